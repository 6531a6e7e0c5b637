#pragma once
// Products that a plan served a moment ago: small ones in a loop should not pay for being looked at again.
#include <array>
#include <optional>

#include "plan/epoch.h"
#include "strata/evaluate.h"
#include "strata/plan.h"

namespace strata::evaluation {

/// What beside expression and operands decides about a plan.
struct Choices {
  std::optional<Format> format = {};
  std::optional<DType> dtype = {}, compute_dtype = {}, result_dtype = {};
  std::optional<DType> written = {};  ///< dtype of the memory that is written into
  bool operator==(const Choices&) const = default;
};

/// The last few of one thread. Key: an Einsum, what an assignment consists of, or what matmul() is told.
template <class Key>
class Memo {
 public:
  struct Entry {
    Key key;
    Choices choices;
    std::vector<TensorType> types;
    planning::Epoch epoch;
    Plan plan;
  };

  /// `type(k)`: of the k-th operand of an entry.
  template <class TypeOf>
  const Entry* find(const Key& key, const Choices& choices, const TypeOf& type) const {
    for (const auto& e : entries_) {
      if (!e || !(e->key == key) || !(e->choices == choices) || !e->epoch.is_now()) continue;
      bool same = true;
      for (std::size_t k = 0; same && k < e->types.size(); ++k) {
        const TensorType* t = type(*e, k);
        same = t && *t == e->types[k];
      }
      if (same) return &*e;
    }
    return nullptr;
  }
  void insert(Entry e) { entries_[next_++ % entries_.size()] = std::move(e); }

 private:
  std::array<std::optional<Entry>, 8> entries_;
  std::size_t next_ = 0;
};

}  // namespace strata::evaluation
