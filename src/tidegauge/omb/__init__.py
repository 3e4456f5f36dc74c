"""Running files of the OpenMessaging Benchmark (OMB): its workloads and drivers as campaigns of Tidegauge."""
