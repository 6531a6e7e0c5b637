"""DLPack capsules made by hand, for tests: what they say of their memory need not be true."""

import ctypes


class ManagedTensor(ctypes.Structure):
    """DLManagedTensor with its fields in place."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Capsule:
    """`capsule` over doubles; `released` lists the calls of its deleter. Keep it as long as the memory is used."""

    def __init__(self, array, shape=None, strides=None, **said):
        self.released, self._array = [], array
        shape = array.shape if shape is None else shape
        self._release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.released.append)
        fields = dict(
            data=array.ctypes.data,
            device=(1, 0),
            ndim=len(shape),
            code=2,
            bits=64,
            lanes=1,
            shape=(ctypes.c_int64 * len(shape))(*shape),
            strides=(ctypes.c_int64 * len(shape))(*strides) if strides else None,
            deleter=ctypes.cast(self._release, ctypes.c_void_p),
        )
        self._managed = ManagedTensor(**{**fields, **said})
        self.address = ctypes.addressof(self._managed)
        self._name = ctypes.create_string_buffer(b"dltensor")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        self.capsule = new(self.address, self._name, None)
