"""Facts that the project ships as YAML: datasets, published scores, licences, tasks; schemas of all YAML; names of datasets."""
