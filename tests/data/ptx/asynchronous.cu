// What libcu++ and cooperative groups make of barriers, pipelines and asynchronous copies.
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/ptx>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
using barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void block_barrier(int* out, const int* in, int n){
  #pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier b; __shared__ int s[256];
  if(threadIdx.x==0) init(&b, blockDim.x);
  __syncthreads();
  for(int k=0;k<n;k++){
    s[threadIdx.x]=in[threadIdx.x]+k;
    auto tok=b.arrive();
    b.wait(std::move(tok));
    out[threadIdx.x]+=s[(threadIdx.x+1)%blockDim.x];
    b.arrive_and_wait();
  }
  if(threadIdx.x==3){ b.arrive_and_drop(); return;}
  b.arrive_and_wait();
  out[threadIdx.x]+=1;
}
extern "C" __global__ void memcpy_async(int* out,const int* in){
  __shared__ barrier b; __shared__ alignas(16) int s[256];
  if(threadIdx.x==0) init(&b, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(cg::this_thread_block(), s, in, cuda::aligned_size_t<16>(sizeof(int)*256), b);
  b.arrive_and_wait();
  out[threadIdx.x]=s[threadIdx.x^1];
  __syncthreads();
  cuda::memcpy_async(s+threadIdx.x, in+2*threadIdx.x, sizeof(int), b);
  b.arrive_and_wait();
  out[threadIdx.x]+=s[threadIdx.x];
}
extern "C" __global__ void block_pipeline(int* out,const int* in,int tiles){
  constexpr int stages=2;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block,stages> st;
  __shared__ alignas(16) int s[stages][128];
  auto block=cg::this_thread_block();
  auto p=cuda::make_pipeline(block,&st);
  int acc=0, f=0;
  for(int t=0;t<tiles;t++){
    for(;f<tiles && f<t+stages;f++){
      p.producer_acquire();
      cuda::memcpy_async(block,s[f%stages],in+f*128,cuda::aligned_size_t<16>(512),p);
      p.producer_commit();
    }
    p.consumer_wait();
    acc+=s[t%stages][(threadIdx.x*7)%128];
    p.consumer_release();
  }
  out[threadIdx.x]=acc;
}
extern "C" __global__ void role_pipeline(int* out,const int* in,int tiles){
  constexpr int stages=2;
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block,stages> st;
  __shared__ alignas(16) int s[stages][128];
  auto block=cg::this_thread_block();
  auto role = threadIdx.x<32 ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer;
  auto p=cuda::make_pipeline(block,&st,role);
  if(role==cuda::pipeline_role::producer){
    for(int t=0;t<tiles;t++){ p.producer_acquire();
      for(int k=0;k<4;k++) cuda::memcpy_async(s[t%stages]+threadIdx.x+32*k, in+t*128+threadIdx.x+32*k, sizeof(int), p);
      p.producer_commit(); }
  } else {
    int acc=0;
    for(int t=0;t<tiles;t++){ p.consumer_wait(); acc+=s[t%stages][(threadIdx.x*7)%128]; p.consumer_release(); }
    out[threadIdx.x-32]=acc;
  }
}
extern "C" __global__ void thread_pipeline(int* out,const int* in){
  __shared__ int s[128];
  auto p=cuda::make_pipeline();
  p.producer_acquire();
  cuda::memcpy_async(s+threadIdx.x,in+threadIdx.x,4,p);
  p.producer_commit();
  p.producer_acquire();
  cuda::memcpy_async(s+threadIdx.x+64,in+threadIdx.x+64,4,p);
  p.producer_commit();
  cuda::pipeline_consumer_wait_prior<1>(p);
  int a=s[threadIdx.x];
  p.consumer_release();
  p.consumer_wait();
  out[threadIdx.x]=a*s[threadIdx.x+64];
  p.consumer_release();
}
extern "C" __global__ void primitives(int* out,const int* in){
  __shared__ alignas(16) int s[512];
  __pipeline_memcpy_async(s+threadIdx.x*4,in+threadIdx.x*4,16);
  __pipeline_commit();
  __pipeline_memcpy_async(s+256+threadIdx.x*4,in+threadIdx.x*4,16,4);
  __pipeline_commit();
  __pipeline_wait_prior(1);
  int a=s[threadIdx.x*4+3];
  __pipeline_wait_prior(0);
  out[threadIdx.x]=a+s[256+threadIdx.x*4+2]+s[256+threadIdx.x*4+3];
}
extern "C" __global__ void group_copies(int* out,const int* in){
  __shared__ alignas(16) int s[256];
  auto tb=cg::this_thread_block();
  cg::memcpy_async(tb,s,in,sizeof(int)*256);
  cg::wait(tb);
  auto w=cg::tiled_partition<32>(tb);
  out[threadIdx.x]=s[threadIdx.x^3];
  tb.sync();
  cg::memcpy_async(w, s+32*w.meta_group_rank(), 32, in+64, 30);
  cg::memcpy_async(w, s+128+32*w.meta_group_rank(), in+1, 128);
  cg::wait_prior<1>(w);
  out[threadIdx.x]+=s[threadIdx.x];
  cg::wait(w);
  out[threadIdx.x]+=s[128+threadIdx.x];
}
extern "C" __global__ void timed_wait(int* out){
  __shared__ barrier b;
  if(threadIdx.x==0) init(&b, blockDim.x+1);
  __syncthreads();
  auto token=b.arrive();
  out[threadIdx.x]=b.try_wait_for(std::move(token), cuda::std::chrono::seconds(20))?1:7;
}
extern "C" __global__ void lacking_arrival(int* out){
  __shared__ barrier b;
  if(threadIdx.x==0) init(&b, blockDim.x+1);
  __syncthreads();
  b.arrive_and_wait();
  out[threadIdx.x]=1;
}
