"""What Caffe computes of test data: blobs, scores, the means of test nets."""
