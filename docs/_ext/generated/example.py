"""The tensors that every drawing shows: the matrix of the README, and the like of other ranks."""

import numpy as np


def vector():
    return np.array([0, 1, 0, 0, 2, 3, 0, 0])


def matrix():
    return np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])


def cube():
    """2 x 3 x 4; every slice along the first dimension stores three elements, as batches want it."""
    a = np.zeros((2, 3, 4), int)
    a[0, 0, 1], a[0, 0, 3], a[0, 2, 2] = 1, 2, 3
    a[1, 0, 1], a[1, 1, 0], a[1, 1, 1] = 4, 5, 6
    return a


def of_rank(rank):
    if rank == 0:
        return np.array(7)
    if rank <= 3:
        return [vector, matrix, cube][rank - 1]()
    a = np.zeros((2,) * (rank - 3) + (2, 3, 4), int)
    a[(0,) * (rank - 3)] = cube()
    return a
