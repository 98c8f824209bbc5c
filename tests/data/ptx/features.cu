// Small kernels, each for one feature; test_features.py says what they must compute. Compiled by NVRTC 13.0.88
// (-std=c++17 -lineinfo) for three architectures, whose PTX is of three dialects.
extern "C" __device__ void __assertfail(const char*,const char*,unsigned,const char*,size_t);
#define assert(e) ((e)?(void)0:__assertfail(#e,__FILE__,__LINE__,__func__,1))


extern "C" __global__ void pr(int n){ int i=threadIdx.x; if(i<n) printf("t %d %f %s %c %lld %5.2f|%-6d|%x %u %%\n", i, i*1.5, "str", 'a'+i, (long long)i<<33, i/3.0, i, i*16, 7u); }
extern "C" __global__ void as(int n){ assert((int)threadIdx.x < n); }
extern "C" __global__ void mal(int* out){ int* p=(int*)malloc(16); p[0]=threadIdx.x; p[3]=5; out[threadIdx.x]=p[0]+p[3]; free(p); }
extern "C" __global__ void mal_oob(int* out){ int* p=(int*)malloc(16); p[4+threadIdx.x]=1; out[0]=p[4]; }
extern "C" __global__ void red(const int* in,int* out){ int t=threadIdx.x; out[t*3]=__syncthreads_count(in[t]>3); out[t*3+1]=__syncthreads_and(in[t]>=0); out[t*3+2]=__syncthreads_or(in[t]==7); }
extern "C" __global__ void named(int* out){ __shared__ int s[64]; int t=threadIdx.x; if(t<64){ s[t]=t*2; asm volatile("bar.sync 1, 64;"); out[t]=s[63-t]; } else { asm volatile("bar.sync 2, 64;"); out[t]=t; } }
extern "C" __global__ void prodcons(int* out){ __shared__ int s[32]; int t=threadIdx.x; if(t<32){ s[t]=t*3; __threadfence_block(); asm volatile("bar.arrive 3, 64;"); } else { asm volatile("bar.sync 3, 64;"); out[t-32]=s[t-32]; } }
extern "C" __global__ void spinwarp(int* out){ __shared__ volatile int flag; if(threadIdx.x==0) flag=0; __syncthreads(); if(threadIdx.x<32){ while(flag==0){} out[threadIdx.x]=flag; } else if(threadIdx.x==32) flag=9; }
extern "C" __global__ void spinlane(int* out){ __shared__ volatile int flag; flag=0; __syncwarp(); if(threadIdx.x<16){ while(flag==0){} out[threadIdx.x]=flag; } else if(threadIdx.x==31) flag=4; }
extern "C" __global__ void lookback(int* flags,int* out){ int b=blockIdx.x; if(threadIdx.x==0){ int prev=0; if(b>0){ while(atomicAdd(&flags[b-1],0)==0){} prev=((volatile int*)out)[b-1]; } ((volatile int*)out)[b]=prev+b; __threadfence(); atomicExch(&flags[b],1);} }
extern "C" __global__ void gotos(const int* in,int* out){ int t=threadIdx.x,v=in[t],c=0; if(v&1) goto B; A: c+=1; v-=3; if(v<0) goto E; if(v&2) goto B; c+=10; B: c+=100; v-=2; if(v>0) goto A; E: out[t]=c; }
extern "C" __global__ void sw(const int* in,int* out){ int t=threadIdx.x,v=in[t]; switch(v){case 0:v=5;break;case 1:v=t;break;case 2:v=t*t;break;case 3:v=-t;break;case 4:v=100;break;case 5:v=7-t;break;case 6:v^=t;break;case 7:v=t<<2;break;default:v=-1;} out[t]=v; }
struct S{char a;short b;int c;double d;};
extern "C" __global__ void st(S s,int* out){ out[threadIdx.x]=s.a+s.b+s.c+(int)s.d+threadIdx.x; }
struct Big{int v[20];};
extern "C" __global__ void big(Big s,int* out){ out[threadIdx.x]=s.v[threadIdx.x%20]; }
__device__ __noinline__ int deref(const int* p,int i){ return p[i]+1; }
extern "C" __global__ void generic(const int* in,int* out){ __shared__ int s[64]; int l[8]; int t=threadIdx.x; s[t]=t*7; for(int k=0;k<8;k++) l[k]=in[(t+k)&63]; __syncthreads(); const int* p = (t%3==0)? s : (t%3==1)? in : l; out[t]=deref(p,t&7); }
__constant__ int ctab[8]={3,1,4,1,5,9,2,6}; __device__ int gcounter; __device__ int* gptr=&gcounter;
extern "C" __global__ void glob(int* out){ atomicAdd(gptr, ctab[threadIdx.x&7]); __syncthreads(); out[threadIdx.x]=gcounter; }
extern "C" __global__ void locd(const int* in,double* out,char* outc){ double a[6]; char c[12]; short h[5]; int t=threadIdx.x; for(int k=0;k<6;k++) a[k]=t*k; for(int k=0;k<12;k++) c[k]=t+k; for(int k=0;k<5;k++) h[k]=t-k; int j=in[t]; out[t]=a[j%6]+h[j%5]; outc[t]=c[j%12]; }
extern "C" __global__ void casd(double* acc,const double* x){ unsigned long long* p=(unsigned long long*)acc; unsigned long long o=*p,a; do{ a=o; o=atomicCAS(p,a,__double_as_longlong(x[threadIdx.x]+__longlong_as_double(a))); }while(a!=o); }
extern "C" __global__ void shapes(int* out){ int i=(threadIdx.z*blockDim.y+threadIdx.y)*blockDim.x+threadIdx.x; int b=(blockIdx.z*gridDim.y+blockIdx.y)*gridDim.x+blockIdx.x; int n=blockDim.x*blockDim.y*blockDim.z; out[b*n+i]=threadIdx.x+100*threadIdx.y+10000*threadIdx.z+b*1000000; }
extern "C" __global__ void shapes2(const float* in,float* out,int w){ int x=blockIdx.x*blockDim.x+threadIdx.x,y=blockIdx.y*blockDim.y+threadIdx.y; if(x<w) out[y*w+x]=in[y*w+x]*2+in[(y*w+x)^1]; }
extern "C" __global__ void divbar(const int* in,int* out){ __shared__ int s[64]; int t=threadIdx.x; s[t]=0; for(int k=0;k<in[t];k++){ asm volatile("barrier.sync 0;"); s[t]+=k; } out[t]=s[t]; }
extern "C" __global__ void chars(const char* a,const unsigned char* b,const short* c,int* o){ int t=threadIdx.x; o[t]=a[t]+b[t]*2+c[t]*3; ((char*)o)[512+t]=a[t]-1; }
__device__ int fib(int n){ return n<2?n:fib(n-1)+fib(n-2); }
extern "C" __global__ void fibk(int* out){ out[threadIdx.x]=fib(threadIdx.x%15); }
__device__ int odd(int n); __device__ __noinline__ int even(int n){ int pad[4]; pad[n&3]=n; return n==0?1:odd(n-1)+(pad[n&3]-n); } __device__ __noinline__ int odd(int n){ return n==0?0:even(n-1); }
extern "C" __global__ void mutual(int* out){ out[threadIdx.x]=even(threadIdx.x); }
extern "C" __global__ void shfldiv(int* out){ int t=threadIdx.x; int v=t; if(t&1){ v=__shfl_xor_sync(0xaaaaaaaa,v,2);} else { v=__shfl_xor_sync(0x55555555,v,4);} out[t]=v; unsigned m=__ballot_sync(~0u,t%3==0); out[t+32]=__popc(m&((1u<<t)-1)); }
extern "C" __global__ void early(int n,int* out){ int t=threadIdx.x; if(t>=n) return; for(int k=0;k<t;k++){ if(k==20) return; if(k%7==6) continue; out[t]+=k; } }
extern "C" __global__ void vol4(const int4* in,int2* out){ int t=threadIdx.x; int4 v=in[t]; out[t]=make_int2(v.x+v.w,v.y-v.z); }
extern "C" __global__ void forever(int* p){ while(1){ p[0]+=1; } }
