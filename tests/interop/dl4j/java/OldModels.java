import java.io.*;
import java.nio.*;
import java.nio.file.*;
import java.util.Random;
import org.deeplearning4j.nn.conf.*;
import org.deeplearning4j.nn.conf.graph.*;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.*;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.*;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Writes models with Deeplearning4j 0.9.1, as Models does with the latest version. */
public class OldModels {
    static final Random RANDOM = new Random(5);
    static File folder;

    public static void main(String[] args) throws Exception {
        folder = new File(args[0]);
        lenet();
        graph();
    }

    static INDArray drawn(int... shape) {
        INDArray x = Nd4j.create(shape);
        for (int i = 0; i < x.length(); i++) x.putScalar(i, (float) RANDOM.nextGaussian());
        return x;
    }

    static INDArray oneHot(int n, int classes) {
        INDArray y = Nd4j.create(n, classes);
        for (int i = 0; i < n; i++) y.putScalar(new int[] {i, RANDOM.nextInt(classes)}, 1);
        return y;
    }

    static void save(String name, INDArray array) throws Exception {
        array = array.dup('c');
        StringBuilder shape = new StringBuilder();
        for (int n : array.shape()) shape.append(n).append(", ");
        String head = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }";
        while ((head.length() + 11) % 64 != 0) head += " ";
        ByteBuffer out = ByteBuffer.allocate(11 + head.length() + 4 * array.length()).order(ByteOrder.LITTLE_ENDIAN);
        out.put((byte) 0x93).put("NUMPY".getBytes()).put((byte) 1).put((byte) 0).putShort((short) (head.length() + 1));
        out.put((head + "\n").getBytes());
        for (float f : array.data().asFloat()) out.putFloat(f);
        Files.write(new File(folder, name + ".npy").toPath(), out.array());
    }

    static NeuralNetConfiguration.Builder base(IUpdater updater) {
        return new NeuralNetConfiguration.Builder().seed(7).weightInit(WeightInit.XAVIER).updater(updater);
    }

    static void lenet() throws Exception {
        MultiLayerConfiguration conf = base(Adam.builder().learningRate(0.01).build()).list()
            .layer(0, new ConvolutionLayer.Builder(3, 3).nOut(4).activation(Activation.RELU).build())
            .layer(1, new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build())
            .layer(2, new BatchNormalization.Builder().build())
            .layer(3, new DenseLayer.Builder().nOut(6).activation(Activation.TANH).build())
            .layer(4, new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
            .setInputType(InputType.convolutionalFlat(8, 6, 1)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        INDArray x = drawn(6, 48), y = oneHot(6, 3);
        for (int i = 0; i < 3; i++) net.fit(x, y);
        ModelSerializer.writeModel(net, new File(folder, "old_lenet.zip"), true);
        save("old_lenet_x", x);
        save("old_lenet_y", y);
        save("old_lenet_out", net.output(x));
        net.fit(x, y);
        save("old_lenet_next", net.output(x));
        ModelSerializer.writeModel(net, new File(folder, "old_lenet_next.zip"), true);
    }

    static void graph() throws Exception {
        ComputationGraphConfiguration conf = base(Nesterovs.builder().learningRate(0.1).momentum(0.9).build()).l2(0.01).graphBuilder()
            .addInputs("in")
            .addLayer("a", new DenseLayer.Builder().nIn(4).nOut(5).activation(Activation.RELU).build(), "in")
            .addLayer("b", new DenseLayer.Builder().nIn(4).nOut(5).activation(Activation.LEAKYRELU).build(), "in")
            .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "b", "a")
            .addLayer("out", new OutputLayer.Builder(LossFunction.MSE).nIn(5).nOut(2).activation(Activation.IDENTITY).build(), "sum")
            .setOutputs("out").build();
        ComputationGraph net = new ComputationGraph(conf);
        net.init();
        INDArray x = drawn(8, 4), y = drawn(8, 2);
        DataSet data = new DataSet(x, y);
        for (int i = 0; i < 3; i++) net.fit(data);
        ModelSerializer.writeModel(net, new File(folder, "old_graph.zip"), true);
        save("old_graph_x", x);
        save("old_graph_y", y);
        save("old_graph_out", net.outputSingle(x));
        net.fit(data);
        save("old_graph_next", net.outputSingle(x));
        ModelSerializer.writeModel(net, new File(folder, "old_graph_next.zip"), true);
    }
}
