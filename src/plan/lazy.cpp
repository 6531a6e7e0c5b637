#include "plan/lazy.h"

#include <algorithm>
#include <atomic>

#include "tensor/tensor_impl.h"

namespace strata::planning {

struct Lazy::Node {
  TensorType type;
  Stats stats;
  int position = -1;
  Step step;
  const Node* pattern = nullptr;  ///< whose elements stand in the same places
  std::shared_ptr<Node> alive = {};
};

namespace {

/// Made when somebody asks for it, and then kept. (No lock: a child forked while it is held would wait without end.)
class Alternative {
 public:
  explicit Alternative(std::function<Lazy()> make) : make_(std::move(make)) {}
  Alternative(const Alternative&) = delete;
  Alternative& operator=(const Alternative&) = delete;
  ~Alternative() { delete made_.load(); }

  const Lazy& get() {
    if (const Lazy* known = made_.load(std::memory_order_acquire)) return *known;
    auto fresh = std::make_unique<Lazy>(make_());
    Lazy* expected = nullptr;
    if (made_.compare_exchange_strong(expected, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *expected;
  }

 private:
  std::function<Lazy()> make_;
  std::atomic<Lazy*> made_{nullptr};
};

}  // namespace

bool Destination::scales() const { return alpha.to_complex() != 1.0 || !beta.is_zero(); }
Destination::Outline Destination::outline() const {
  return {.dtype = out ? std::optional(out->dtype()) : std::nullopt, .scales = scales()};
}

Lazy Lazy::given(int position, TensorType type, Stats stats) {
  Lazy out;
  out.node_ = std::make_shared<Node>(Node{std::move(type), std::move(stats), position, {}});
  out.node_->pattern = out.node_.get();
  return out;
}

Lazy Lazy::made(TensorType type, Stats stats, Step step, const Lazy* like) {
  Lazy out;
  if (step.otherwise)
    step.otherwise = [kept = std::make_shared<Alternative>(std::move(step.otherwise))] { return kept->get(); };
  out.node_ = std::make_shared<Node>(Node{std::move(type), std::move(stats), -1, std::move(step)});
  out.node_->pattern = like ? like->node_->pattern : out.node_.get();
  if (like) out.node_->alive = like->node_;
  return out;
}

const TensorType& Lazy::type() const { return node_->type; }
const Stats& Lazy::stats() const { return node_->stats; }
std::int64_t Lazy::nse() const { return static_cast<std::int64_t>(std::min(node_->stats.stored, 9e18)); }
int Lazy::position() const { return node_->position; }
bool Lazy::may_hold_fill_in() const { return format().can_hold_fill() || step().keeps_fill_in; }

const Lazy::Step& Lazy::step() const { return node_->step; }

bool Lazy::is_twin_of(const Lazy& o) const {
  const TensorType &a = type(), &b = o.type();
  return node_->pattern == o.node_->pattern && num_parts() == 1 && a.format == b.format && a.shape == b.shape &&
         a.pos_dtype == b.pos_dtype && a.crd_dtype == b.crd_dtype;
}

void Lazy::set_twin(const Lazy& o) {
  node_->pattern = o.node_->pattern;
  node_->alive = o.node_;
}

bool Lazy::is_made_of(const Lazy& o) const {
  if (same_object(o)) return true;
  const Step& s = node_->step;
  return (s.consumed && s.consumed->is_made_of(o)) || (s.then && s.then->is_made_of(o)) ||
         std::ranges::any_of(s.inputs, [&](const Lazy& x) { return x.is_made_of(o); });
}

std::vector<std::int64_t> assumed_strides(const TensorType& dense) {
  auto out = row_major_strides(dense.format.level_ranges(dense.shape));
  for (std::size_t l = 0; l < dense.strides.size(); ++l) switch (dense.strides[l]) {
      case TensorType::Stride::unit: out[l] = 1; break;
      case TensorType::Stride::broadcast: out[l] = 0; break;
      case TensorType::Stride::general: out[l] = std::max<std::int64_t>(2, out[l]); break;
    }
  return out;
}

}  // namespace strata::planning
