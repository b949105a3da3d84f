//! rten: bool tensors are int32 there; int64 would be too, and half the bytes are another task.

use crate::{Engine, Fallible, Tensor};
use rten::{Model, NodeId, Value};

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
    let model = Model::load_file(path).map_err(|error| error.to_string())?;
    let values = inputs.iter().map(value).collect::<Fallible<Vec<_>>>()?;
    let inputs = model.input_ids().iter().copied().zip(values).collect();
    let outputs = model.output_ids().to_vec();
    Ok(Rten { model, inputs, outputs })
}

impl Engine for Rten {
    fn run(&mut self) -> Fallible<()> {
        let inputs = self.inputs.iter().map(|(id, value)| (*id, value.into())).collect();
        self.model.run(inputs, &self.outputs, None).map(drop).map_err(|error| error.to_string())
    }
}
