"""Parts of `benchmarks/generator.py`: Tidegauge's load generator beside a bare client loop and Kafka's own tools."""
