"""Facts that the project ships as YAML: datasets, published scores, licences, tasks; names of datasets."""
