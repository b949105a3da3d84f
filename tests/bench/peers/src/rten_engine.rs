//! rten: bool and int64 tensors are int32 there.

use crate::{Engine, Fallible, Tensor};
use rten::{Model, ModelOptions, NodeId, Value};
use rten_tensor::prelude::*;

pub struct Rten {
    model: Model,
    inputs: Vec<(NodeId, Value)>,
    outputs: Vec<NodeId>,
}

fn value(tensor: &Tensor) -> Fallible<Value> {
    match tensor.dtype() {
        1 => shaped(tensor, tensor.elements::<f32>().to_vec()),
        2 => shaped(tensor, tensor.elements::<u8>().to_vec()),
        3 => shaped(tensor, tensor.elements::<i8>().to_vec()),
        6 => shaped(tensor, tensor.elements::<i32>().to_vec()),
        7 => shaped(tensor, tensor.elements::<i64>().iter().map(|&i| i as i32).collect()),
        9 => shaped(tensor, tensor.elements::<u8>().iter().map(|&b| i32::from(b)).collect()),
        other => Err(format!("rten has no element type {other}")),
    }
}

fn shaped<T>(tensor: &Tensor, elements: Vec<T>) -> Fallible<Value>
where
    Value: From<rten_tensor::Tensor<T>>,
{
    Ok(rten_tensor::Tensor::from_data(&tensor.shape(), elements).into())
}

pub fn load(path: &str, inputs: &[Tensor]) -> Fallible<Rten> {
    let mut options = ModelOptions::with_all_ops();
    options.prepack_weights(true);
    let model = options.load_file(path).map_err(|error| error.to_string())?;
    let values = inputs.iter().map(value).collect::<Fallible<Vec<_>>>()?;
    let inputs = model.input_ids().iter().copied().zip(values).collect();
    let outputs = model.output_ids().to_vec();
    Ok(Rten { model, inputs, outputs })
}

impl Rten {
    fn outputs(&self) -> Fallible<Vec<Value>> {
        let inputs = self.inputs.iter().map(|(id, value)| (*id, value.into())).collect();
        self.model.run(inputs, &self.outputs, None).map_err(|error| error.to_string())
    }
}

impl Engine for Rten {
    fn run(&mut self) -> Fallible<()> {
        self.outputs().map(drop)
    }

    fn output(&mut self, index: usize) -> Fallible<Vec<f32>> {
        match self.outputs()?.into_iter().nth(index) {
            Some(Value::FloatTensor(tensor)) => Ok(tensor.to_vec()),
            _ => Err("not an output of floats".to_string()),
        }
    }
}
