def check_samples(*a):
    return []
