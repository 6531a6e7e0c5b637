#pragma once
// One small thread pool of our own: no OpenMP (two OpenMP runtimes stall each other; libgomp hangs after fork).
#include <cstdint>
#include <functional>

namespace strata {

/// Calls f(chunk) for every chunk in [0, chunks), on settings().threads threads. The caller claims chunks too and never
/// waits for a helper that has not started. A busy or nested pool runs inline; a forked child gets a fresh pool. The
/// first exception of f is thrown here after all running chunks ended; chunks not yet started are then skipped.
void parallel_for(std::int64_t chunks, const std::function<void(std::int64_t)>& f);
/// Called now and then between chunks, on the thread that called parallel_for; may throw, which ends the work (Ctrl-C
/// in Python).
void set_interrupt_check(void (*check)());
/// The same for long serial loops: cheap enough to be called every few thousand steps. On a helper it ends the chunk
/// once another chunk of the job has failed.
void poll_interrupt();
/// Threads that parallel_for would use.
int thread_count();
/// Whose share of parallel_for's work this is: 0 for the thread that called it, 1 and up for helpers. Below
/// max_threads.
int worker_index();
inline constexpr int max_threads = 256;
/// Changes it for the whole process (0: back to the default). At most max_threads.
void set_thread_count(int n);

}  // namespace strata
