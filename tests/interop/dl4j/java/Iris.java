import java.io.File;
import java.nio.file.*;
import java.util.List;
import org.deeplearning4j.nn.conf.*;
import org.deeplearning4j.nn.conf.inputs.InputType;
import org.deeplearning4j.nn.conf.layers.*;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.nn.weights.WeightInit;
import org.deeplearning4j.util.ModelSerializer;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.preprocessor.NormalizerStandardize;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

/**
 * Writes the model of notebooks/13_from_deeplearning4j.ipynb: `java Iris train.csv iris_dl4j.zip`, as Models.java.
 *
 * A line of train.csv is four numbers and a class: the rows of scikit-learn's load_iris() except every third. It
 * prints the values that the notebook compares with.
 */
public class Iris {
    public static void main(String[] args) throws Exception {
        List<String> lines = Files.readAllLines(Paths.get(args[0]));
        INDArray x = Nd4j.create(lines.size(), 4), y = Nd4j.create(lines.size(), 3);
        for (int i = 0; i < lines.size(); i++) {
            String[] cells = lines.get(i).split(",");
            for (int j = 0; j < 4; j++) x.putScalar(i, j, Float.parseFloat(cells[j]));
            y.putScalar(i, Integer.parseInt(cells[4]), 1);
        }
        DataSet flowers = new DataSet(x, y);
        NormalizerStandardize normalizer = new NormalizerStandardize();
        normalizer.fit(flowers);
        normalizer.transform(flowers);

        MultiLayerConfiguration conf = new NeuralNetConfiguration.Builder().seed(7)
            .weightInit(WeightInit.XAVIER).updater(new Adam(0.02)).l2(1e-4).list()
            .layer(new DenseLayer.Builder().nOut(8).activation(Activation.TANH).build())
            .layer(new OutputLayer.Builder(LossFunction.MCXENT).nOut(3).activation(Activation.SOFTMAX).build())
            .setInputType(InputType.feedForward(4)).build();
        MultiLayerNetwork net = new MultiLayerNetwork(conf);
        net.init();
        for (int i = 0; i < 10; i++) net.fit(flowers);
        ModelSerializer.writeModel(net, new File(args[1]), true);
        ModelSerializer.addNormalizerToModel(new File(args[1]), normalizer);
        print("output", net, flowers);
        net.fit(flowers);
        print("after one more update", net, flowers);
    }

    /** Prints the network's outputs for the first, the middle and the last flower. */
    static void print(String what, MultiLayerNetwork net, DataSet flowers) {
        INDArray out = net.output(flowers.getFeatures());
        System.out.printf("%s, score %.6f%n", what, net.score(flowers));
        for (long i : new long[] {0, 50, 99})
            System.out.printf("[%.6f, %.6f, %.6f],%n", out.getFloat(i, 0), out.getFloat(i, 1), out.getFloat(i, 2));
    }
}
