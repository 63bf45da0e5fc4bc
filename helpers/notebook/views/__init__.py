"""The figures and knobs of one lesson each; what any cell uses is one folder up."""
