var e={title:`First kernel`,request:{source:{text:`// One thread for each element.
extern "C" __global__ void scale(const float* input, float* output, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) output[i] = factor * input[i];
}
`},buffers:[{name:`input`,dtype:`float32`,shape:[1024],init:{kind:`arange`},role:`in`},{name:`output`,dtype:`float32`,shape:[1024],init:{kind:`zeros`},role:`out`}],steps:[{kind:`launch`,config:{grid:{kind:`cover`,buffer:`output`},block:[256]},arguments:[{kind:`buffer`,name:`input`,buffer:`input`},{kind:`buffer`,name:`output`,buffer:`output`},{kind:`scalar`,name:`factor`,value:2},{kind:`scalar`,name:`n`,value:1024}]}]}};export{e as STARTER};