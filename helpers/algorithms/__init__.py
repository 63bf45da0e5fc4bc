"""What the lessons build, one file a subject: pure functions of `comm`, tensors and numbers."""
