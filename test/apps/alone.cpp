/*
 * A program without MPI, with components in several threads: the records must agree with the program's own
 * account, which it prints as lines of thread, method, n, and nanoseconds.
 *
 *     alone THREADS CALLS
 */
#include <marple.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using clock_type = std::chrono::steady_clock;

static marple::method go{"Driver", "go"}, sleeps{"Worker", "sleep"}, fails{"Worker", "fail"}, many{"Worker", "many"};
static std::mutex guard;
static std::atomic<int> done{0};

static void sleep_for(int thread, int n)
{
    clock_type::time_point begin, end;
    begin = clock_type::now();
    {
        marple::invocation call{sleeps};
        call.parameter("n", n);
        call.parameter("thread", thread); // the name of a column of every run
        std::this_thread::sleep_for(std::chrono::microseconds(100 * n));
    }
    end = clock_type::now();
    const std::lock_guard<std::mutex> lock(guard);
    std::printf("%d sleep %d %lld\n", thread, n, static_cast<long long>(std::chrono::nanoseconds(end - begin).count()));
}

static void work(int thread, int threads, int calls)
{
    for (int n = 1; n <= calls; n++)
        sleep_for(thread, n);
    try {
        marple::invocation call{fails};
        call.parameter("n", static_cast<unsigned char>(200));
        throw std::runtime_error("on purpose");
    } catch (const std::runtime_error &) {
    }
    for (int n = 0; n < 10000; n++) {
        marple::invocation call{many};
        call.parameter("n", n);
        call.quality("x", n * 0.5);
    }
    // A thread that ended before another's first call would leave its number to that one.
    for (done++; done < threads;)
        std::this_thread::yield();
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? std::atoi(argv[1]) : 1, calls = argc > 2 ? std::atoi(argv[2]) : 3;
    marple::invocation call{go};
    std::vector<std::thread> list;
    for (int t = 1; t < threads; t++)
        list.emplace_back(work, t, threads, calls);
    work(0, threads, calls);
    for (std::thread &t : list)
        t.join();
}
