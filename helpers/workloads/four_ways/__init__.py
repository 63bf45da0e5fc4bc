"""TensorFlow's four ways to train on several devices, on real servers and workers."""
