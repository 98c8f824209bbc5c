var e=`// One thread for each element.
extern "C" __global__ void scale(const float* input, float* output, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = factor * input[i];
}
`,t=`# One thread for each element. An array knows its shape.
from numba import cuda


@cuda.jit
def scale(input, output, factor):
    i = cuda.grid(1)
    if i < output.size:
        output[i] = factor * input[i]
`,n=`// One thread for each element.
.version 8.0
.target sm_75
.address_size 64

.visible .entry scale(
    .param .u64 .ptr .global .align 4 input,
    .param .u64 .ptr .global .align 4 output,
    .param .f32 factor,
    .param .u32 n
)
{
    .reg .pred %p<2>;
    .reg .f32 %f<4>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;

    ld.param.u64 %rd1, [input];
    ld.param.u64 %rd2, [output];
    ld.param.f32 %f1, [factor];
    ld.param.u32 %r1, [n];

    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;

    mul.wide.u32 %rd3, %r5, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.f32 %f2, [%rd4];
    mul.rn.f32 %f3, %f1, %f2;
    st.global.f32 [%rd5], %f3;

DONE:
    ret;
}
`,r=[{kind:`scalar`,name:`factor`,value:2},{kind:`scalar`,name:`n`,value:1024}];function i(e,t,n,r){return{title:`First kernel`,request:{source:{language:e,text:n,file_name:t},buffers:[{name:`input`,dtype:`float32`,shape:[1024],init:{kind:`arange`},role:`in`},{name:`output`,dtype:`float32`,shape:[1024],init:{kind:`zeros`},role:`out`}],steps:[{kind:`launch`,config:{grid:{kind:`cover`,buffer:`output`},block:[256]},arguments:[{kind:`buffer`,name:`input`,buffer:`input`},{kind:`buffer`,name:`output`,buffer:`output`},...r]}]}}}var a={"cuda-c++":i(`cuda-c++`,`kernel.cu`,e,r),numba:i(`numba`,`kernel.py`,t,[{kind:`scalar`,name:`factor`,dtype:`float32`,value:2}]),ptx:i(`ptx`,`kernel.ptx`,n,r)};export{a as STARTERS};