"""Slow, obvious, plain-Python twins of the engine, to be read next to the papers.

No module here uses the engine, and few use NumPy: mostly floats, dicts and lists. The tests of the
engine, which must agree with them, hold the twins too; ``test_naive_...`` only adds what neither
those nor the tests of the core tell: examples worked by hand, lemmas, and the answers of other
solvers.

======================  ==========================================================================
``naive.learners``      binary learners of a node: AdaGrad, SGD with lazy L2, diagonal AROW
``naive.label_tree``    the tree alone: the three variants of Figure 1, silent leaves
``naive.replay``        the examples a node remembers, and which of them it learns from again
``naive.policy``        Algorithm 8 and its relatives: where a new label goes
``naive.oplt``          Algorithms 2-7 and 9: learn while the tree grows, or on a given tree
``naive.lomtree``       LOMtree, Algorithm 1: examples routed to class histograms
``naive.embedding``     vectors of features under a label tree, of both losses
``naive.search``        Algorithm 10 and the other ways to predict
``naive.thresholds``    STO, FTA and OFO by exhaustive search and step by step (PLT, Section 4)
``naive.clustering``    interpolated label trees (Baharav et al. 2021), balanced k-means among them
``naive.search_cost``   the cost of searches on a tree, and the cheapest reduction of one
``naive.streams``       random streams of observations for property tests
======================  ==========================================================================

"OPLT" alone means Jasinska-Kobus et al. (2021), *Online probabilistic label trees*; "PLT" means
Jasinska et al. (2016), *Extreme F-measure maximization using sparse probability estimates*.
"""
