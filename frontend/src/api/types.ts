/** The protocol's records under the names that the page uses. */
import type { components } from './schema';

type Schemas = components['schemas'];

export type Architecture = string;
export type Argument = NonNullable<Schemas['Launch']['arguments']>[number];
export type ArgumentType = Schemas['ArgumentType'];
export type BufferView = Schemas['BufferView'];
export type BufferRead = Schemas['BufferRead'];
export type Check = NonNullable<Schemas['RunRequest']['checks']>[number];
export type Checked = Schemas['Checked'];
export type Comparison = Schemas['Comparison'];
export type Compiled = Schemas['Compiled'];
export type Counted = Schemas['Counted'];
export type Define = Schemas['Define'];
export type DeviceBuffer = Schemas['Buffer'];
export type DeviceInfo = Schemas['DeviceInfo'];
export type Diagnostic = Schemas['Diagnostic'];
export type DType = Schemas['Buffer']['dtype'];
export type Entry = Schemas['Entry'];
export type Estimate = Schemas['Estimate'];
export type EventRecord = Schemas['EventRecord'];
export type Film = Schemas['Film'];
export type Filmed = Schemas['Filmed'];
export type Fix = Schemas['Fix'];
export type Found = Schemas['Found'];
export type GpuFit = Schemas['GpuFit'];
export type Initialiser = NonNullable<Schemas['Buffer']['init']>;
export type Instrument = NonNullable<Schemas['RunRequest']['instruments']>[number];
export type InspectReport = Schemas['InspectReport'];
export type InspectRequest = Schemas['InspectRequest'];
export type Language = NonNullable<Schemas['Source']['language']>;
export type Launch = Schemas['Launch'];
export type LaunchConfig = Schemas['LaunchConfig'];
export type Launched = Schemas['Launched'];
export type NumpyReference = Schemas['NumpyReference'];
export type NumberLike = boolean | number | string;
export type Occupancy = Schemas['Occupancy'];
export type Options = Schemas['Options'];
export type Parameter = Schemas['Parameter'];
export type Recognised = Schemas['Recognised'];
export type RecognisedKernel = Schemas['RecognisedKernel'];
export type Repeat = Schemas['Repeat'];
export type Resources = Schemas['Resources'];
export type Role = NonNullable<Schemas['Buffer']['role']>;
export type RunEvent = EventRecord['event'];
export type RunRequest = Schemas['RunRequest'];
export type RunResult = Schemas['RunResult'];
export type ScalarArgument = Schemas['ScalarArgument'];
export type SharePayload = Schemas['SharePayload'];
export type Span = Schemas['Span'];
export type Specialisation = Schemas['Specialisation'];
export type Step = RunRequest['steps'][number];
export type Sweep = Schemas['Sweep'];
export type Swept = Schemas['Swept'];
export type Timed = Schemas['Timed'];
export type Measured = Schemas['Measured'];
export type Traced = Schemas['Traced'];
export type TracedAccess = Schemas['TracedAccess'];
export type TraceWish = Schemas['TraceWish'];

export interface FieldProblem {
  field: string;
  message: string;
}

/** Of a run in the line. `seconds` is null where no run has told yet how long one takes. */
export interface Place {
  state: 'queued' | 'running' | 'finished';
  ahead: number;
  seconds: number | null;
}

export interface Accepted {
  id: string;
  state: string;
  device: string;
  position: number;
}

export interface StoredRun {
  id: string;
  created_at: string;
  request: RunRequest;
  result: RunResult;
}

export interface Devices {
  devices: DeviceInfo[];
  default: string;
  isolation: string;
  version: string;
  /** Why workers that live offer nothing. */
  reasons?: string[];
}

export interface Example {
  id: string;
  title: string;
  summary: string;
  payload: SharePayload;
}

export interface SharedLink {
  id: string;
  url: string;
  content_hash: string;
}

export interface StoredShare {
  id: string;
  parent: string | null;
  created_at: string;
  content_hash: string;
  payload: SharePayload;
  /** The run whose results the link shows. */
  run?: string | null;
}

export interface UploadedArray {
  digest: string;
  dtype: DType;
  shape: number[];
  bytes: number;
}
