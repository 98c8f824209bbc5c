// @TITLE@: CUDA kernels with a main() around them, exported from Warpyard.
//
//     nvcc @FLAGS@ -o @STEM@ @FILE@
//     ./@STEM@                     run, and print what came out and how long it took
//     ./@STEM@ --save FOLDER       also keep every result@FILM_HELP@ as a .npy file in an existing folder
//     ./@STEM@ --initial FOLDER    only write what the buffers start from; needs no GPU
//     ./@STEM@ --rounds N          measured runs (@ROUNDS@ by default@ROUNDS_HELP@; 0: none)
//
// -ffp-contract=off and -fwrapv, for GCC and Clang, keep the host's arithmetic the same as NumPy's.
@NOTES@
#include <algorithm>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <cuda_runtime.h>

@HOST@
// ---------------------------------------------------------------------------------------------------------------
// The kernels, as they were in Warpyard.
// ---------------------------------------------------------------------------------------------------------------

@DEFINES@@SOURCE@

// ---------------------------------------------------------------------------------------------------------------
// What runs them.
// ---------------------------------------------------------------------------------------------------------------

@DATA@static std::vector<host_side::Buffer> initial_buffers()
{
    std::vector<host_side::Buffer> buffers;
@INITIAL@    return buffers;
}

int main(int count, char **words)
{
    host_side::Choices choices = host_side::read_choices(count, words, @ROUNDS@);
    std::vector<host_side::Buffer> buffers = initial_buffers();
    if (!choices.initial.empty()) {
        for (const host_side::Buffer &buffer : buffers)
            if (!buffer.left_as_allocated)
                host_side::write_npy(choices.initial, buffer);
        return 0;
    }

    // Pointers to the GPU's memory.
@POINTERS@
    auto upload = [&]() {
@UPLOADS@    };

@ATTRIBUTES@@FILM@    auto run_steps = [&]() {
@STEPS@    };

    upload();
    run_steps();
    HOST_CHECK(cudaDeviceSynchronize());
@DOWNLOADS@
    for (const host_side::Buffer &buffer : buffers) {
        if (!buffer.result)
            continue;
        host_side::print_summary(buffer);
        if (!choices.save.empty())
            host_side::write_npy(choices.save, buffer);
    }
@FILM_SAVED@
    // Time of all steps by the GPU's events, pauses between launches included. Each round starts from the same data,
    // and the first one warms up.
    if (choices.rounds > 0) {
        buffers = initial_buffers();
        cudaEvent_t start, stop;
        HOST_CHECK(cudaEventCreate(&start));
        HOST_CHECK(cudaEventCreate(&stop));
        std::vector<float> times;
        for (int round = 0; round <= choices.rounds; ++round) {
            upload();
            HOST_CHECK(cudaDeviceSynchronize());
            HOST_CHECK(cudaEventRecord(start));
            run_steps();
            HOST_CHECK(cudaEventRecord(stop));
            HOST_CHECK(cudaEventSynchronize(stop));
            float milliseconds = 0.0f;
            HOST_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
            if (round > 0)
                times.push_back(milliseconds);
        }
        std::sort(times.begin(), times.end());
        double median = 0.5 * (times[times.size() / 2] + times[(times.size() - 1) / 2]);
        printf("time  %.1f us for @COUNTED@ (median of %d rounds, GPU events)\n", median * 1e3, choices.rounds);
    }
    return 0;
}
