import java.io.File;
import java.util.Random;
import org.deeplearning4j.nn.conf.*;
import org.deeplearning4j.nn.conf.graph.*;
import org.deeplearning4j.nn.conf.graph.rnn.*;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.*;
import org.deeplearning4j.nn.conf.layers.convolutional.Cropping2D;
import org.deeplearning4j.nn.conf.layers.misc.FrozenLayer;
import org.deeplearning4j.nn.conf.layers.misc.ElementWiseMultiplicationLayer;
import org.deeplearning4j.nn.conf.layers.recurrent.*;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.activations.impl.*;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.api.preprocessor.*;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.*;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.*;

/**
 * Writes the models that the tests read: each trained for three updates and saved with its updater,
 * its inputs, labels and outputs, and outputs and model after one more update.
 *
 * mvn -q -Djavacpp.platform=linux-x86_64 dependency:build-classpath -Dmdep.outputFile=classpath
 * javac -proc:none -cp $(cat classpath) Models.java; java -cp .:$(cat classpath) Models FOLDER
 *
 * The arrays of each model are then put into one .npz. With Java 17, OldModels needs --add-opens.
 */
public class Models {
    static final Random RANDOM = new Random(5);
    static File folder;

    public static void main(String[] args) throws Exception {
        folder = new File(args[0]);
        Nd4j.getRandom().setSeed(5);
        mlp();
        lenet();
        graves();
        graph();
        options();
        windows();
        sequence();
        unsupported();
    }

    static INDArray drawn(int... shape) {
        INDArray x = Nd4j.create(shape);
        for (long i = 0; i < x.length(); i++) x.putScalar(i, (float) RANDOM.nextGaussian());
        return x;
    }

    /** One of `classes` for each row, or for each step of sequences. */
    static INDArray oneHot(int n, int classes, int... steps) {
        INDArray y = steps.length == 0 ? Nd4j.create(n, classes) : Nd4j.create(n, classes, steps[0]);
        for (int i = 0; i < n; i++) {
            if (steps.length == 0) y.putScalar(i, RANDOM.nextInt(classes), 1);
            for (int t = 0; steps.length > 0 && t < steps[0]; t++)
                y.putScalar(new int[] {i, RANDOM.nextInt(classes), t}, 1);
        }
        return y;
    }

    static void save(String name, INDArray array) throws Exception {
        Nd4j.writeAsNumpy(array.dup('c'), new File(folder, name + ".npy"));
    }

    static void write(String name, MultiLayerNetwork net, INDArray x, INDArray y, DataNormalization n)
            throws Exception {
        for (int i = 0; i < 3; i++) net.fit(x, y);
        File file = new File(folder, name + ".zip");
        ModelSerializer.writeModel(net, file, true);
        if (n != null) {
            ModelSerializer.addNormalizerToModel(file, n);
            INDArray normal = x.dup();
            n.transform(normal);
            save(name + "_normal", normal);
        }
        save(name + "_x", x);
        save(name + "_y", y);
        save(name + "_out", net.output(x));
        net.fit(x, y);
        save(name + "_next", net.output(x));
        ModelSerializer.writeModel(net, new File(folder, name + "_next.zip"), true);
    }

    static NeuralNetConfiguration.Builder base(IUpdater updater) {
        return new NeuralNetConfiguration.Builder().seed(7).weightInit(WeightInit.XAVIER).updater(updater);
    }

    static void mlp() throws Exception {
        MultiLayerConfiguration conf = base(new Adam(0.02)).l2(0.01).list()
            .layer(new DenseLayer.Builder().nIn(5).nOut(7).activation(Activation.RATIONALTANH).build())
            .layer(new DenseLayer.Builder().nOut(6).activation(new ActivationLReLU(0.2)).build())
            .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
            .setInputType(InputType.feedForward(5)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        INDArray x = drawn(8, 5);
        NormalizerStandardize n = new NormalizerStandardize();
        n.fit(new DataSet(x.mul(3).addi(2), oneHot(8, 3)));
        write("mlp", net, x, oneHot(8, 3), n);
    }

    static void lenet() throws Exception {
        MultiLayerConfiguration conf = base(new Nesterovs(0.05, 0.9)).list()
            .layer(new ConvolutionLayer.Builder(5, 5).nOut(4).activation(Activation.IDENTITY).build())
            .layer(new SubsamplingLayer.Builder(PoolingType.MAX).kernelSize(2, 2).stride(2, 2).build())
            .layer(new ConvolutionLayer.Builder(3, 3).nOut(6).convolutionMode(ConvolutionMode.Same)
                .activation(Activation.RELU).build())
            .layer(new BatchNormalization())
            .layer(new SubsamplingLayer.Builder(PoolingType.AVG).kernelSize(2, 2).stride(2, 2).build())
            .layer(new DenseLayer.Builder().nOut(10).activation(Activation.RELU).build())
            .layer(new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD).nOut(4)
                .activation(Activation.SOFTMAX).build())
            .setInputType(InputType.convolutionalFlat(12, 14, 2)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        write("lenet", net, drawn(6, 2 * 12 * 14), oneHot(6, 4), new ImagePreProcessingScaler(-1, 1));
    }

    static void graves() throws Exception {
        MultiLayerConfiguration conf = base(new Adam(0.02)).list()
            .layer(new GravesLSTM.Builder().nIn(3).nOut(5).activation(Activation.TANH).build())
            .layer(new GravesLSTM.Builder().nIn(5).nOut(4).activation(Activation.TANH)
                .gateActivationFunction(Activation.HARDSIGMOID).build())
            .layer(new RnnOutputLayer.Builder(LossFunction.MCXENT).nIn(4).nOut(3)
                .activation(Activation.SOFTMAX).build())
            .build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        INDArray x = drawn(4, 3, 6);
        NormalizerMinMaxScaler n = new NormalizerMinMaxScaler(-1, 1);
        n.fit(new DataSet(x, oneHot(4, 3, 6)));
        write("graves", net, x, oneHot(4, 3, 6), n);
    }

    static void graph() throws Exception {
        ComputationGraphConfiguration conf = base(new AdaMax(0.01)).graphBuilder()
            .addInputs("left", "right")
            .addLayer("fixed", new FrozenLayer(new DenseLayer.Builder().nOut(5).activation(Activation.CUBE).build()), "left")
            .addLayer("each", new ElementWiseMultiplicationLayer.Builder().nIn(5).nOut(5).activation(Activation.IDENTITY).build(), "fixed")
            .addLayer("a", new DenseLayer.Builder().nOut(6).activation(Activation.IDENTITY).build(), "each")
            .addLayer("slopes", new PReLULayer.Builder().inputShape(6).build(), "a")
            .addLayer("b", new DenseLayer.Builder().nOut(6).activation(Activation.SIGMOID)
                .updater(new RmsProp(0.01)).build(), "right")
            .addVertex("sum", new ElementWiseVertex(ElementWiseVertex.Op.Add), "slopes", "b")
            .addVertex("both", new MergeVertex(), "sum", "b")
            .addLayer("norm", new BatchNormalization.Builder().build(), "both")
            .addVertex("part", new SubsetVertex(2, 8), "norm")
            .addVertex("half", new ScaleVertex(0.5), "part")
            .addLayer("first", new OutputLayer.Builder(LossFunction.MSE).nOut(2)
                .activation(Activation.TANH).build(), "half")
            .addLayer("second", new OutputLayer.Builder(LossFunction.XENT).nOut(3)
                .activation(Activation.SIGMOID).build(), "norm")
            .setOutputs("first", "second")
            .setInputTypes(InputType.feedForward(4), InputType.feedForward(3)).build();
        ComputationGraph net = new ComputationGraph(conf);
        net.init();
        INDArray[] x = {drawn(8, 4), drawn(8, 3)};
        INDArray[] y = {drawn(8, 2), oneHot(8, 3)};
        MultiDataSet data = new MultiDataSet(x, y);
        for (int i = 0; i < 3; i++) net.fit(data);
        ModelSerializer.writeModel(net, new File(folder, "graph.zip"), true);
        for (int i = 0; i < 2; i++) {
            save("graph_x" + i, x[i]);
            save("graph_y" + i, y[i]);
            save("graph_out" + i, net.output(x)[i]);
        }
        net.fit(data);
        for (int i = 0; i < 2; i++) save("graph_next" + i, net.output(x)[i]);
        ModelSerializer.writeModel(net, new File(folder, "graph_next.zip"), true);
    }

    static void options() throws Exception {
        ISchedule rates = new MapSchedule.Builder(ScheduleType.ITERATION).add(0, 0.1).add(3, 0.05).build();
        MultiLayerConfiguration conf = base(new Adam(rates)).l1(0.01).l1Bias(0.02)
            .weightDecay(0.1).biasUpdater(new AdaBelief(0.02))
            .gradientNormalization(GradientNormalization.ClipL2PerLayer).gradientNormalizationThreshold(0.2).list()
            .layer(new DenseLayer.Builder().nOut(6).activation(Activation.SOFTSIGN).build())
            .layer(new DenseLayer.Builder().nOut(5).activation(Activation.GELU).updater(new Nesterovs(0.1, 0.5)).build())
            .layer(new OutputLayer.Builder(LossFunction.HINGE).nOut(3).updater(new AdaGrad(0.1)).activation(Activation.IDENTITY).build())
            .setInputType(InputType.feedForward(4)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        write("options", net, drawn(8, 4), oneHot(8, 3).muli(2).subi(1), null);
    }

    static void windows() throws Exception {
        IUpdater updater = new Sgd(new StepSchedule(ScheduleType.ITERATION, 0.1, 0.5, 2));
        MultiLayerConfiguration conf = base(updater).list()
            .layer(new ZeroPaddingLayer.Builder(1, 2, 0, 1).build())
            .layer(new DepthwiseConvolution2D.Builder(3, 3).depthMultiplier(2).activation(Activation.ELU).build())
            .layer(new SeparableConvolution2D.Builder(3, 2).nOut(5).depthMultiplier(2)
                .convolutionMode(ConvolutionMode.Same).activation(Activation.SOFTPLUS).build())
            .layer(new LocalResponseNormalization.Builder().build())
            .layer(new Deconvolution2D.Builder(3, 3).stride(2, 2).nOut(4).activation(Activation.SELU).build())
            .layer(new Cropping2D(1, 0, 2, 1))
            .layer(new ConvolutionLayer.Builder(3, 3).dilation(2, 2).stride(2, 1).padding(1, 1).hasBias(false)
                .nOut(4).activation(Activation.SWISH).build())
            .layer(new Upsampling2D.Builder(2).build())
            .layer(new SubsamplingLayer.Builder(PoolingType.AVG).kernelSize(3, 3).stride(2, 2)
                .convolutionMode(ConvolutionMode.Same).build())
            .layer(new GlobalPoolingLayer.Builder(PoolingType.AVG).build())
            .layer(new ActivationLayer(Activation.HARDTANH))
            .layer(new OutputLayer.Builder(LossFunction.SPARSE_MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
            .setInputType(InputType.convolutional(9, 8, 2)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        INDArray y = Nd4j.create(new float[] {0, 2, 1, 1}, new int[] {4, 1});
        write("windows", net, drawn(4, 2, 9, 8), y, null);
    }

    static void sequence() throws Exception {
        ComputationGraphConfiguration conf = base(new AdaDelta()).graphBuilder()
            .addInputs("words")
            .addLayer("table", new EmbeddingSequenceLayer.Builder().nIn(9).nOut(4).inputLength(7).build(), "words")
            .addLayer("conv", new Convolution1DLayer.Builder(3).nOut(5).convolutionMode(ConvolutionMode.Same)
                .activation(Activation.TANH).build(), "table")
            .addLayer("two", new Bidirectional(Bidirectional.Mode.CONCAT, new LSTM.Builder().nOut(3)
                .activation(Activation.TANH).build()), "conv")
            .addLayer("plain", new SimpleRnn.Builder().nOut(4).activation(Activation.TANH).build(), "two")
            .addLayer("old", new GravesBidirectionalLSTM.Builder().nOut(3).activation(Activation.TANH).build(), "plain")
            .addLayer("last", new LastTimeStep(new LSTM.Builder().nOut(4).activation(Activation.TANH).build()), "old")
            .addVertex("end", new LastTimeStepVertex("words"), "plain")
            .addVertex("all", new MergeVertex(), "last", "end")
            .addLayer("out", new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build(), "all")
            .setOutputs("out")
            .setInputTypes(InputType.recurrent(9, 7)).build();
        ComputationGraph net = new ComputationGraph(conf);
        net.init();
        INDArray x = Nd4j.create(4, 1, 7);
        for (int i = 0; i < x.length(); i++) x.putScalar(i, RANDOM.nextInt(9));
        INDArray y = oneHot(4, 3);
        DataSet data = new DataSet(x, y);
        for (int i = 0; i < 3; i++) net.fit(data);
        ModelSerializer.writeModel(net, new File(folder, "sequence.zip"), true);
        save("sequence_x", x);
        save("sequence_y", y);
        save("sequence_out", net.outputSingle(x));
        net.fit(data);
        save("sequence_next", net.outputSingle(x));
        ModelSerializer.writeModel(net, new File(folder, "sequence_next.zip"), true);
    }

    static void unsupported() throws Exception {
        MultiLayerConfiguration conf = base(new Sgd(0.1)).list()
            .layer(new ConvolutionLayer.Builder(3, 3).nOut(4).build())
            .layer(new PrimaryCapsules.Builder(4, 2).kernelSize(3, 3).build())
            .layer(new CapsuleLayer.Builder(2, 2, 2).build())
            .layer(new CapsuleStrengthLayer.Builder().build())
            .layer(new LossLayer.Builder(LossFunction.MSE).activation(Activation.IDENTITY).build())
            .setInputType(InputType.convolutional(12, 12, 1)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        ModelSerializer.writeModel(net, new File(folder, "capsules.zip"), true);
    }
}
