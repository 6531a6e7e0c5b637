"""CSR in tiles times a vector, by our own kernel, or a matrix, by generated code: against SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("indices", [("int32", "uint8"), ("int32", "uint16"), ("int32", "int32"), ("int64", "int64")])
@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 7), (1500, 900), (33, 0), (0, 33)])
def test_against_scipy(shape, indices, dtype):
    rng = np.random.default_rng(sum(shape))
    a = sp.random_array(shape, density=0.2, rng=rng, dtype=dtype, format="csr")
    t = st.from_scipy(a).to("TiledCSR(64, 100)", pos_dtype=indices[0], crd_dtype=indices[1])
    for columns in (None, 1, 16, 70):
        x = rng.random(shape[1:] if columns is None else (shape[1], columns)).astype(dtype)
        product = st.Matmul(t, x)
        assert product.plan().kernel_name == (
            "tiled_csr_product" if columns is None else "generated code" if 0 not in shape else "the general path"
        )
        np.testing.assert_allclose(product.execute(), a @ x, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-5)
        y = rng.random(shape[:1] + x.shape[1:]).astype(dtype)
        want = 2 * (a @ x) - 3 * y
        st.matmul(t, x, y, alpha=2, beta=-3)
        np.testing.assert_allclose(y, want, rtol=1e-4 if dtype == np.float32 else 1e-12, atol=1e-4)


def test_the_same_bits_from_any_number_of_threads():
    a = sp.random_array((5000, 1200), density=0.1, rng=np.random.default_rng(1), format="csr")
    t = st.from_scipy(a).to("TiledCSR(1024, 256)", crd_dtype="uint8")
    for columns in ((), (40,)):
        x = np.random.default_rng(2).random((1200, *columns))
        got = []
        for threads in (1, 2, 7):
            st.settings.threads = threads
            got.append(st.matmul(t, x).tobytes())
        st.settings.threads = 0
        assert got[0] == got[1] == got[2]


def test_columns_of_tiles_are_left_to_the_compiler():
    a = sp.random_array((200, 100), density=0.2, rng=np.random.default_rng(3), format="csr")
    t = st.from_scipy(a).to("TiledCSR(32, 32)")
    x = np.random.default_rng(4).random((200, 8))
    np.testing.assert_allclose(st.einsum("ij,ik->jk", t, x), a.T @ x)
