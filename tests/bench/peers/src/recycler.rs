//! An allocator that keeps large blocks for the next request of the same size. rten and tract return a new tensor from
//! every run; without this, the C library would map and unmap its pages each time and that is all one would measure.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::Mutex;

const LARGE: usize = 1 << 20;
const SLOTS: usize = 64;

#[derive(Clone, Copy)]
struct Block {
    address: usize,
    layout: Layout,
}

pub struct Recycler {
    kept: Mutex<[Option<Block>; SLOTS]>,
}

impl Recycler {
    pub const fn new() -> Self {
        Self { kept: Mutex::new([None; SLOTS]) }
    }

    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let mut kept = self.kept.lock().ok()?;
        let slot = kept.iter_mut().find(|slot| slot.is_some_and(|block| block.layout == layout))?;
        slot.take().map(|block| block.address as *mut u8)
    }

    fn keep(&self, address: *mut u8, layout: Layout) -> bool {
        let Ok(mut kept) = self.kept.lock() else { return false };
        let Some(slot) = kept.iter_mut().find(|slot| slot.is_none()) else { return false };
        *slot = Some(Block { address: address as usize, layout });
        true
    }

    /// Gives everything that is kept back to the system.
    pub fn release(&self) {
        let Ok(mut kept) = self.kept.lock() else { return };
        for block in kept.iter_mut().filter_map(Option::take) {
            unsafe { System.dealloc(block.address as *mut u8, block.layout) }
        }
    }
}

unsafe impl GlobalAlloc for Recycler {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let kept = if layout.size() >= LARGE { self.take(layout) } else { None };
        kept.unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if layout.size() < LARGE || !self.keep(block, layout) {
            unsafe { System.dealloc(block, layout) }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.size() < LARGE && size < LARGE {
            return unsafe { System.realloc(block, layout, size) };
        }
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
