import static org.nd4j.linalg.indexing.NDArrayIndex.interval;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.deeplearning4j.nn.conf.MultiLayerConfiguration;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.ConvolutionLayer;
import org.deeplearning4j.nn.conf.layers.DenseLayer;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.conf.layers.SubsamplingLayer;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.spark.api.RDDTrainingApproach;
import org.deeplearning4j.spark.impl.multilayer.SparkDl4jMultiLayer;
import org.deeplearning4j.spark.impl.paramavg.ParameterAveragingTrainingMaster;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Nesterovs;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/** Deeplearning4j trains LeNet or an MLP on two Spark threads; prints one line of JSON. */
public class Dl4jFit {
    static final int BATCH = 64, PIXELS = 784, CLASSES = 10;

    public static void main(String[] words) throws Exception {
        Path folder = Path.of(words[0]);
        int epochs = Integer.parseInt(words[2]);
        Nd4j.setDefaultDataTypes(DataType.FLOAT, DataType.FLOAT);
        DataSet train = load(folder, "x", "y"), test = load(folder, "xs", "ys");
        SparkConf conf = new SparkConf().setAppName("dl4j").setMaster("local[2]");
        try (JavaSparkContext sc = new JavaSparkContext(conf.set("spark.ui.enabled", "false"))) {
            sc.setLogLevel("OFF");
            SparkDl4jMultiLayer net = new SparkDl4jMultiLayer(sc, network(words[1]), master());
            JavaRDD<DataSet> data = minibatches(sc, train, folder);
            long began = System.nanoTime();
            for (int epoch = 0; epoch < epochs; epoch++) net.fit(data);
            double seconds = (System.nanoTime() - began) / 1e9;
            double accuracy = accuracy(net.getNetwork(), test);
            System.out.printf("{\"seconds\": %.3f, \"accuracy\": %.4f}%n", seconds, accuracy);
        }
    }

    static DataSet load(Path folder, String features, String labels) throws Exception {
        byte[] x = Files.readAllBytes(folder.resolve("raw").resolve(features));
        byte[] y = Files.readAllBytes(folder.resolve("raw").resolve(labels));
        float[] pixels = new float[x.length], oneHot = new float[y.length * CLASSES];
        for (int i = 0; i < x.length; i++) pixels[i] = (x[i] & 255) / 255f;
        for (int i = 0; i < y.length; i++) oneHot[i * CLASSES + y[i]] = 1f;
        int[] rows = {y.length, PIXELS}, classes = {y.length, CLASSES};
        return new DataSet(Nd4j.create(pixels, rows), Nd4j.create(oneHot, classes));
    }

    /** Whole minibatches in a file, as its users save them: tasks do not carry them. */
    static JavaRDD<DataSet> minibatches(JavaSparkContext sc, DataSet all, Path folder) {
        List<DataSet> parts = new ArrayList<>();
        for (int i = 0; i < all.numExamples(); i += BATCH) {
            int end = Math.min(all.numExamples(), i + BATCH);
            INDArray x = all.getFeatures().get(interval(i, end)).dup('c');
            parts.add(new DataSet(x, all.getLabels().get(interval(i, end)).dup('c')));
        }
        String file = folder.resolve("dl4j-" + System.nanoTime()).toString();
        sc.parallelize(parts, 2).saveAsObjectFile(file);
        return sc.objectFile(file, 2);
    }

    static ParameterAveragingTrainingMaster master() {
        return new ParameterAveragingTrainingMaster.Builder(2, BATCH)
                .batchSizePerWorker(BATCH)
                .averagingFrequency(5)
                .workerPrefetchNumBatches(2)
                .rddTrainingApproach(RDDTrainingApproach.Direct)
                .build();
    }

    static MultiLayerConfiguration network(String model) {
        NeuralNetConfiguration.ListBuilder layers =
                new NeuralNetConfiguration.Builder()
                        .seed(1)
                        .weightInit(WeightInit.XAVIER)
                        .updater(new Nesterovs(0.01, 0.9))
                        .list();
        if (model.equals("lenet")) {
            layers.layer(convolution(20)).layer(pooling()).layer(convolution(50)).layer(pooling());
            layers.layer(dense(500)).setInputType(InputType.convolutionalFlat(28, 28, 1));
        } else {
            layers.layer(dense(512)).layer(dense(512));
            layers.setInputType(InputType.feedForward(PIXELS));
        }
        OutputLayer.Builder output = new OutputLayer.Builder(LossFunction.NEGATIVELOGLIKELIHOOD);
        return layers.layer(output.nOut(CLASSES).activation(Activation.SOFTMAX).build()).build();
    }

    static ConvolutionLayer convolution(int filters) {
        return new ConvolutionLayer.Builder(5, 5)
                .nOut(filters)
                .activation(Activation.IDENTITY)
                .build();
    }

    static SubsamplingLayer pooling() {
        return new SubsamplingLayer.Builder(SubsamplingLayer.PoolingType.MAX)
                .kernelSize(2, 2)
                .stride(2, 2)
                .build();
    }

    static DenseLayer dense(int units) {
        return new DenseLayer.Builder().nOut(units).activation(Activation.RELU).build();
    }

    static double accuracy(MultiLayerNetwork net, DataSet test) {
        Evaluation evaluation = new Evaluation(CLASSES);
        evaluation.eval(test.getLabels(), net.output(test.getFeatures(), false));
        return evaluation.accuracy();
    }
}
