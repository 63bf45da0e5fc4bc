"""One model, one data set, one seed, trained in every framework of the course."""
