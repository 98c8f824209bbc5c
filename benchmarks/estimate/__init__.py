"""What the estimate of GPU times is judged by."""
