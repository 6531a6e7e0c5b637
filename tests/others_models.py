"""Models that others wrote, as tests import them."""


def bert(attention="sdpa", **options):
    """A BertModel with random weights, small unless told otherwise. Skips where transformers is not installed."""
    import pytest

    transformers = pytest.importorskip("transformers")
    import torchvision_on_cpu  # noqa: F401

    small = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, vocab_size=101)
    quiet = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, initializer_range=0.3)
    config = transformers.BertConfig(**{**small, **quiet, **options})
    config._attn_implementation = attention
    return transformers.BertModel(config)
