"""Python clients for a shoe server: submit predictions and receive results."""
