"""Nets of earlier versions keep their meaning."""

import pytest

from sparkdl.errors import ConfigError
from sparkdl.interop.caffe.messages.prototxt import parse_text
from sparkdl.interop.caffe.messages.schema import NetParameter
from sparkdl.interop.caffe.nets.upgrade import V1_TYPES, upgrade_net

# (old net, the same net in the format of 1.0)
PAIRS = {
    "1.0 stays as it is": (
        "name: 'n' layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }",
        "name: 'n' layer { name: 'r' type: 'ReLU' bottom: 'a' top: 'a' }",
    ),
    "inputs by four sizes": (
        "input: 'a' input: 'b' input_dim: [1, 3, 8, 9, 2, 4, 1, 1]",
        "layer { name: 'input' type: 'Input' top: 'a' top: 'b' input_param { "
        "shape { dim: [1, 3, 8, 9] } shape { dim: [2, 4, 1, 1] } } }",
    ),
    "inputs by shapes": (
        "input: 'a' input_shape { dim: [5, 7] }",
        "layer { name: 'input' type: 'Input' top: 'a' input_param { shape { dim: [5, 7] } } }",
    ),
    "rates of a BatchNorm": (
        "layer { name: 'b' type: 'BatchNorm' param { lr_mult: 0 } param { lr_mult: 0 } }",
        "layer { name: 'b' type: 'BatchNorm' }",
    ),
    "names of a BatchNorm's": (
        "layer { name: 'b' type: 'BatchNorm' param { name: 'm' lr_mult: 0 } param { lr_mult: 0 } }",
        "layer { name: 'b' type: 'BatchNorm' param { name: 'm' } param { } }",
    ),
    "V1": (
        "layers { name: 'c' type: CONVOLUTION bottom: 'a' top: 'c' blobs_lr: [1, 2] "
        "weight_decay: [1, 0] convolution_param { num_output: 3 } include { phase: TEST } }",
        "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' "
        "param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 decay_mult: 0 } "
        "convolution_param { num_output: 3 } include { phase: TEST } }",
    ),
    "V1, shared by name": (
        "layers { name: 'c' type: INNER_PRODUCT param: 'w' blob_share_mode: PERMISSIVE "
        "loss_weight: 2 }",
        "layer { name: 'c' type: 'InnerProduct' param { name: 'w' share_mode: PERMISSIVE } "
        "loss_weight: 2 }",
    ),
    "V1, data that transforms itself": (
        "layers { name: 'd' type: DATA top: 'd' data_param { source: 's' batch_size: 4 "
        "scale: 0.5 mean_file: 'm' crop_size: 8 mirror: true } }",
        "layer { name: 'd' type: 'Data' top: 'd' data_param { source: 's' batch_size: 4 } "
        "transform_param { scale: 0.5 mean_file: 'm' crop_size: 8 mirror: true } }",
    ),
    "V0": (
        "layers { layer { name: 'c' type: 'conv' num_output: 3 kernelsize: 5 stride: 2 group: 3 "
        "biasterm: false weight_filler { type: 'xavier' } blobs_lr: [1, 2] weight_decay: 1 } "
        "bottom: 'a' top: 'c' }",
        "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' "
        "param { lr_mult: 1 decay_mult: 1 } param { lr_mult: 2 } convolution_param { "
        "num_output: 3 kernel_size: 5 stride: 2 group: 3 bias_term: false "
        "weight_filler { type: 'xavier' } } }",
    ),
    "V0, a layer of padding": (
        "layers { layer { name: 'p' type: 'padding' pad: 2 } bottom: 'a' top: 'p' } "
        "layers { layer { name: 'c' type: 'conv' num_output: 3 kernelsize: 5 } "
        "bottom: 'p' top: 'c' }",
        "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' "
        "convolution_param { pad: 2 num_output: 3 kernel_size: 5 } }",
    ),
    "V0, a layer of padding in place of the layer's own": (
        "layers { layer { name: 'p' type: 'padding' pad: 1 } bottom: 'a' top: 'p' } "
        "layers { layer { name: 'c' type: 'conv' num_output: 3 kernelsize: 5 pad: 2 } "
        "bottom: 'p' top: 'c' }",
        "layer { name: 'c' type: 'Convolution' bottom: 'a' top: 'c' "
        "convolution_param { pad: 1 num_output: 3 kernel_size: 5 } }",
    ),
    "V0, a layer of padding before pooling": (
        "layers { layer { name: 'p' type: 'padding' pad: 1 } bottom: 'a' top: 'p' } "
        "layers { layer { name: 'c' type: 'pool' pool: AVE kernelsize: 3 } "
        "bottom: 'p' top: 'c' }",
        "layer { name: 'c' type: 'Pooling' bottom: 'a' top: 'c' "
        "pooling_param { pool: AVE pad: 1 kernel_size: 3 } }",
    ),
    "V0, pooling": (
        "layers { layer { name: 'p' type: 'pool' pool: AVE kernelsize: 3 stride: 2 } "
        "bottom: 'a' top: 'p' }",
        "layer { name: 'p' type: 'Pooling' bottom: 'a' top: 'p' "
        "pooling_param { pool: AVE kernel_size: 3 stride: 2 } }",
    ),
    "V0, data": (
        "layers { layer { name: 'd' type: 'images' source: 's' batchsize: 4 meanfile: 'm' "
        "cropsize: 8 mirror: true scale: 0.5 new_height: 9 shuffle_images: true } top: 'd' }",
        "layer { name: 'd' type: 'ImageData' top: 'd' image_data_param { source: 's' "
        "batch_size: 4 new_height: 9 shuffle: true } transform_param { mean_file: 'm' "
        "crop_size: 8 mirror: true scale: 0.5 } }",
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_means_the_same(name):
    old, new = (parse_text(text, NetParameter) for text in PAIRS[name])
    assert upgrade_net(old) == new


@pytest.mark.parametrize("kind", V1_TYPES)
def test_every_type_of_v1(kind):
    net = upgrade_net(parse_text(f"layers {{ name: 'one' type: {kind} }}", NetParameter))
    assert [layer.type for layer in net.layer] == [V1_TYPES[kind]]


def test_what_is_given_is_left_alone():
    old = parse_text(PAIRS["V1, data that transforms itself"][0], NetParameter)
    before = old.SerializeToString()
    upgrade_net(old)
    assert old.SerializeToString() == before


WRONG = {
    "two versions": ("layer { } layers { }", "`layer` or in `layers`, got both"),
    "no type": ("layers { name: 'one' }", "'one' must have a type"),
    "an unknown type of V0": ("layers { layer { name: 'one' type: 'conw' } }", "got 'conw'"),
    "an option of another layer": (
        "layers { layer { name: 'one' type: 'relu' kernelsize: 3 } }",
        "'one' must not have kernelsize",
    ),
    "padding before another layer": (
        "layers { layer { name: 'p' type: 'padding' pad: 1 } bottom: 'a' top: 'p' } "
        "layers { layer { name: 'r' type: 'relu' } bottom: 'p' top: 'r' }",
        "'p' must pad the one bottom of .*'conv', 'pool'.*, got 'r': 'relu'",
    ),
    "padding of nothing": (
        "layers { layer { name: 'p' type: 'padding' pad: 1 } top: 'p' } "
        "layers { layer { name: 'c' type: 'conv' } bottom: 'p' top: 'c' }",
        "'p' must pad the one bottom of",
    ),
    "inputs without shapes": ("input: 'a' input: 'b' input_dim: [1, 2, 3, 4]", "as many shapes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be(name):
    text, says = WRONG[name]
    with pytest.raises(ConfigError, match=says):
        upgrade_net(parse_text(text, NetParameter))
