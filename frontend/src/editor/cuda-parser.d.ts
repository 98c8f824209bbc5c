declare module 'virtual:cuda-parser' {
  import type { LRParser } from '@lezer/lr';
  export const parser: LRParser;
}
