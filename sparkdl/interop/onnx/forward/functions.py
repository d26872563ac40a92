"""Operations that the ONNX standard defines as functions of other operations."""

from onnx import FunctionProto, NodeProto, defs, helper

from sparkdl.errors import UnsupportedError


def has_function(op, opset):
    schema = defs.get_schema(op, opset, "")
    return schema.has_function or schema.has_context_dependent_function


class FunctionRule:
    """A rule that expands a node into the standard's function for its input types.

    Parameters
    ----------
    proto : NodeProto
    opset : int
    make_body : function of a graph, a path, an opset and a list of refused nodes
    """

    def __init__(self, proto, opset, make_body):
        self.proto, self.opset, self.make_body = proto, opset, make_body
        self.bodies = {}

    def __call__(self, *inputs, **attributes):
        key = tuple(None if x is None else (x.dtype.str, x.dtype.name, x.shape) for x in inputs)
        if key not in self.bodies:
            self.bodies[key] = self.expand(inputs)
        body = self.bodies[key]
        more = [None] * (len(body.inputs) - len(inputs))
        return tuple(body.run({"": None}, [*inputs, *more]))  # functions may read omitted inputs

    def expand(self, inputs):
        """Returns the function body for inputs of these types and shapes."""
        function = self.function(inputs)
        refused = []
        values = [helper.make_empty_tensor_value_info(name) for name in function.input]
        results = [helper.make_empty_tensor_value_info(name) for name in function.output]
        given = self.attributes(function)
        nodes = [bound(node, given) for node in function.node]
        graph = helper.make_graph(nodes, self.proto.op_type, values, results)
        opset = max((entry.version for entry in function.opset_import), default=self.opset)
        body = self.make_body(graph, self.proto.op_type, opset, refused)
        if refused:
            raise UnsupportedError("; ".join(refused))
        return body

    def function(self, inputs):
        schema, made = defs.get_schema(self.proto.op_type, self.opset, ""), FunctionProto()
        if schema.has_function:
            return schema.function_body
        types = [
            helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
            if x is not None
            else helper.make_tensor_type_proto(0, None)
            for x in inputs
        ]
        given = [each.SerializeToString() for each in types]
        content = schema.get_context_dependent_function(self.proto.SerializeToString(), given)
        made.ParseFromString(content)
        return made

    def attributes(self, function):
        """Returns {name: AttributeProto} of the node, with the function's defaults added."""
        defaults = {attribute.name: attribute for attribute in function.attribute_proto}
        schema = defs.get_schema(self.proto.op_type, self.opset, "")
        for name, attribute in schema.attributes.items():
            if attribute.default_value.name:
                defaults[name] = attribute.default_value
        return defaults | {attribute.name: attribute for attribute in self.proto.attribute}


def bound(node, given):
    """Returns a node of a function with references to attributes replaced by their values."""
    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for attribute in node.attribute:
        if not attribute.ref_attr_name:
            made.attribute.add().CopyFrom(attribute)
        elif attribute.ref_attr_name in given:
            new = made.attribute.add()
            new.CopyFrom(given[attribute.ref_attr_name])
            new.name = attribute.name
    return made
