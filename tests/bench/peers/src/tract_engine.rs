//! tract: the model is made concrete for the shapes of its inputs and optimized, and its state is kept between runs.

use crate::{Engine, Fallible, Tensor};
use tract_linalg::multithread::{set_default_executor, Executor};
use tract_onnx::prelude::*;

pub struct Tract {
    state: TypedSimpleState,
    inputs: TVec<TValue>,
}

fn datum_type(dtype: i32) -> Fallible<(DatumType, usize)> {
    Ok(match dtype {
        1 => (f32::datum_type(), 4),
        3 => (i8::datum_type(), 1),
        6 => (i32::datum_type(), 4),
        7 => (i64::datum_type(), 8),
        9 => (bool::datum_type(), 1),
        10 => (f16::datum_type(), 2),
        other => return Err(format!("tract has no element type {other}")),
    })
}

fn value(tensor: &Tensor) -> Fallible<TValue> {
    let (kind, size) = datum_type(tensor.dtype())?;
    let shape = tensor.shape();
    let count: usize = shape.iter().product();
    let bytes = tensor.bytes(count * size);
    let made = unsafe { tract_onnx::prelude::Tensor::from_raw_dt(kind, &shape, bytes) };
    made.map(|made| made.into_tvalue()).map_err(|error| format!("{error:#}"))
}

fn plan(path: &str, inputs: &[TValue]) -> TractResult<TypedSimpleState> {
    let mut model = tract_onnx::onnx().model_for_path(path)?;
    for (index, input) in inputs.iter().enumerate() {
        model.set_input_fact(index, InferenceFact::dt_shape(input.datum_type(), input.shape()))?;
    }
    model.into_optimized()?.into_runnable()?.spawn()
}

pub fn load(path: &str, inputs: &[Tensor], threads: usize) -> Fallible<Tract> {
    if threads > 1 {
        set_default_executor(Executor::multithread(threads));
    }
    let inputs = inputs.iter().map(value).collect::<Fallible<TVec<_>>>()?;
    let state = plan(path, &inputs).map_err(|error| format!("{error:#}"))?;
    Ok(Tract { state, inputs })
}

impl Engine for Tract {
    fn run(&mut self) -> Fallible<()> {
        self.state.run(self.inputs.clone()).map(drop).map_err(|error| format!("{error:#}"))
    }

    fn output(&mut self, index: usize) -> Fallible<Vec<f32>> {
        let outputs = self.state.run(self.inputs.clone()).map_err(|error| format!("{error:#}"))?;
        let output = outputs.get(index).ok_or("no such output")?;
        let view = output.to_plain_array_view::<f32>().map_err(|error| format!("{error:#}"))?;
        Ok(view.iter().copied().collect())
    }
}
