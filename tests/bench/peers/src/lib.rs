//! rten and tract behind three C functions, so that `make bench` can time them in the process of all others.

mod recycler;
mod rten_engine;
mod tract_engine;

use std::ffi::{c_char, c_int, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr;
use std::slice;

#[global_allocator]
static MEMORY: recycler::Recycler = recycler::Recycler::new();

pub type Fallible<T> = Result<T, String>;

/// A loaded model with its inputs.
pub trait Engine {
    /// Runs once and drops the outputs.
    fn run(&mut self) -> Fallible<()>;

    /// Runs once and gives output number `index`, which has to be of f32.
    fn output(&mut self, index: usize) -> Fallible<Vec<f32>>;
}

/// An ox_tensor of ox.h, packed.
#[repr(C)]
pub struct Tensor {
    dtype: c_int,
    rank: c_int,
    dims: *const i64,
    strides: *const i64,
    data: *const c_void,
}

impl Tensor {
    /// ONNX's number of the element type.
    pub fn dtype(&self) -> i32 {
        self.dtype
    }

    pub fn shape(&self) -> Vec<usize> {
        if self.rank == 0 {
            return Vec::new();
        }
        let dims = unsafe { slice::from_raw_parts(self.dims, self.rank as usize) };
        dims.iter().map(|&dim| dim as usize).collect()
    }

    /// The elements, which the caller knows to be of type T.
    pub fn elements<T>(&self) -> &[T] {
        let count = self.shape().iter().product();
        unsafe { slice::from_raw_parts(self.data as *const T, count) }
    }

    /// The same memory as `size` bytes.
    pub fn bytes(&self, size: usize) -> &[u8] {
        unsafe { slice::from_raw_parts(self.data as *const u8, size) }
    }
}

fn load(engine: &str, path: &str, inputs: &[Tensor], threads: usize) -> Fallible<Box<dyn Engine>> {
    let mut engine: Box<dyn Engine> = match engine {
        "rten" => Box::new(rten_engine::load(path, inputs)?),
        "tract" => Box::new(tract_engine::load(path, inputs, threads)?),
        _ => return Err(format!("no engine is named {engine}")),
    };
    engine.run()?;
    Ok(engine)
}

/// Loads a model, runs it once and returns a handle, or NULL and a text in `reason`.
///
/// # Safety
/// The strings end with NUL, `inputs` has `count` packed tensors, and `reason` has room for `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn peer_load(
    engine: *const c_char,
    path: *const c_char,
    inputs: *const Tensor,
    count: usize,
    threads: usize,
    reason: *mut c_char,
    size: usize,
) -> *mut c_void {
    let engine = CStr::from_ptr(engine).to_string_lossy();
    let path = CStr::from_ptr(path).to_string_lossy();
    let inputs = slice::from_raw_parts(inputs, count);
    let loaded = catch_unwind(AssertUnwindSafe(|| load(&engine, &path, inputs, threads)));
    match loaded.unwrap_or_else(|_| Err("it panicked".to_string())) {
        Ok(engine) => Box::into_raw(Box::new(engine)) as *mut c_void,
        Err(text) => {
            let length = text.len().min(size - 1);
            ptr::copy_nonoverlapping(text.as_ptr(), reason as *mut u8, length);
            *reason.add(length) = 0;
            ptr::null_mut()
        }
    }
}

/// Runs a loaded model once; 0 is success.
///
/// # Safety
/// `peer` comes from peer_load.
#[no_mangle]
pub unsafe extern "C" fn peer_run(peer: *mut c_void) -> c_int {
    let engine = &mut *(peer as *mut Box<dyn Engine>);
    match catch_unwind(AssertUnwindSafe(|| engine.run())) {
        Ok(Ok(())) => 0,
        _ => 1,
    }
}

/// Runs once more, copies up to `count` elements of an output of floats and returns how many it has; -1 if there is none.
///
/// # Safety
/// `peer` comes from peer_load, and `data` has room for `count` elements.
#[no_mangle]
pub unsafe extern "C" fn peer_output(peer: *mut c_void, index: usize, data: *mut f32, count: usize) -> isize {
    let engine = &mut *(peer as *mut Box<dyn Engine>);
    match catch_unwind(AssertUnwindSafe(|| engine.output(index))) {
        Ok(Ok(values)) => {
            ptr::copy_nonoverlapping(values.as_ptr(), data, values.len().min(count));
            values.len() as isize
        }
        _ => -1,
    }
}

/// Frees a loaded model, and the memory that was kept for its next run.
///
/// # Safety
/// `peer` comes from peer_load and is not used again.
#[no_mangle]
pub unsafe extern "C" fn peer_free(peer: *mut c_void) {
    drop(Box::from_raw(peer as *mut Box<dyn Engine>));
    MEMORY.release();
}
