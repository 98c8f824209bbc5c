// Made by `npm run types` from the protocol's models; sha256 2b63b1fda4bede8fb061179a14a281321f14b2d5e6b7afe8607615876a4f6e26
export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * Arange
         * @description start, start + step, … in row-major order.
         */
        Arange: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "arange";
            /**
             * Start
             * @default 0
             */
            start?: boolean | number | string;
            /**
             * Step
             * @default 1
             */
            step?: boolean | number | string;
        };
        /**
         * ArgumentType
         * @description The type of a launch's argument, for a language that compiles for it.
         */
        ArgumentType: {
            /**
             * Dimensions
             * @default 0
             */
            dimensions?: number;
            /**
             * Dtype
             * @default null
             */
            dtype?: ("bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128") | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "array" | "number" | "other";
            /**
             * Name
             * @default null
             */
            name?: string | null;
        };
        /**
         * Baseline
         * @description Python text that sees what a NumPy reference sees (`protocol.checks.NumpyReference`).
         *
         *     Where it defines a function `baseline`, that is called with the buffers and scalars that its parameters name, again
         *     and again, each time on fresh arrays; else the whole text is. Numba may be imported, and PyTorch where it is there.
         */
        Baseline: {
            /**
             * Name
             * @default NumPy
             */
            name?: string;
            /** Text */
            text: string;
        };
        /**
         * Baselined
         * @description How long a baseline takes on this machine's processor.
         */
        Baselined: {
            /**
             * First Seconds
             * @default null
             */
            first_seconds?: number | null;
            /** Index */
            index: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "baselined";
            /** Name */
            name: string;
            /**
             * Samples
             * @default 0
             */
            samples?: number;
            /**
             * Seconds
             * @default null
             */
            seconds?: number | null;
            /**
             * Threads
             * @default 1
             */
            threads?: number;
            /**
             * Transfer Bytes
             * @default 0
             */
            transfer_bytes?: number;
        };
        /**
         * BlockLanes
         * @description How many of its lanes' places one block used.
         */
        BlockLanes: {
            /** Index */
            index: number;
            /** Instructions */
            instructions: number;
            /** Lanes */
            lanes: number;
        };
        /**
         * Bound
         * @description What one resource alone would make of the launch.
         */
        Bound: {
            /** Resource */
            resource: string;
            /** Seconds */
            seconds: number;
        };
        /**
         * Buffer
         * @description A named array in device memory, row-major. `out` and `inout` buffers are read back at the end.
         */
        Buffer: {
            /**
             * Dtype
             * @enum {string}
             */
            dtype: "bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128";
            /**
             * Init
             * @default {
             *       "kind": "zeros"
             *     }
             */
            init?: components["schemas"]["Zeros"] | components["schemas"]["Full"] | components["schemas"]["Arange"] | components["schemas"]["Linspace"] | components["schemas"]["Uniform"] | components["schemas"]["Normal"] | components["schemas"]["Integers"] | components["schemas"]["Formula"] | components["schemas"]["Literals"] | components["schemas"]["Uninitialised"] | components["schemas"]["Upload"];
            /** Name */
            name: string;
            /**
             * Role
             * @default inout
             * @enum {string}
             */
            role?: "in" | "out" | "inout";
            /** Shape */
            shape: number[];
        };
        /**
         * BufferArgument
         * @description A pointer to a declared buffer.
         */
        BufferArgument: {
            /** Buffer */
            buffer: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "buffer";
            /**
             * Name
             * @default null
             */
            name?: string | null;
        };
        /**
         * BufferDifference
         * @description One buffer that a run read back, beside the other run's of the same name.
         */
        BufferDifference: {
            /**
             * Beyond
             * @default null
             */
            beyond?: number | null;
            /**
             * Differing
             * @default 0
             */
            differing?: number;
            /**
             * Dtype
             * @default null
             */
            dtype?: ("bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128") | null;
            /**
             * Elements
             * @default 0
             */
            elements?: number;
            /**
             * Equal
             * @default false
             */
            equal?: boolean;
            /**
             * First
             * @default null
             */
            first?: boolean | number | string | null;
            /**
             * Index
             * @default null
             */
            index?: number[] | null;
            /**
             * Largest Absolute
             * @default null
             */
            largest_absolute?: boolean | number | string | null;
            /**
             * Largest Ulps
             * @default null
             */
            largest_ulps?: number | null;
            /** Name */
            name: string;
            /**
             * Second
             * @default null
             */
            second?: boolean | number | string | null;
            /**
             * Why Not
             * @default
             */
            why_not?: string;
        };
        /**
         * BufferRead
         * @description An out or inout buffer at the end; its bytes are a blob, row-major.
         */
        BufferRead: {
            /** Bytes */
            bytes: number;
            /** Digest */
            digest: string;
            /**
             * Dtype
             * @enum {string}
             */
            dtype: "bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128";
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "buffer-read";
            /**
             * Maximum
             * @default null
             */
            maximum?: boolean | number | string | null;
            /**
             * Minimum
             * @default null
             */
            minimum?: boolean | number | string | null;
            /** Name */
            name: string;
            /**
             * Not Finite
             * @default 0
             */
            not_finite?: number;
            /** Shape */
            shape: number[];
        };
        /**
         * BufferView
         * @description How the page shows a buffer.
         */
        BufferView: {
            /**
             * Logarithmic
             * @default false
             */
            logarithmic?: boolean;
            /**
             * Palette
             * @default viridis
             * @enum {string}
             */
            palette?: "viridis" | "inferno" | "gray" | "diverging" | "rgb";
            /**
             * Shown As
             * @default auto
             * @enum {string}
             */
            shown_as?: "auto" | "table" | "plot" | "image" | "hidden";
        };
        /**
         * Checked
         * @description A check of the request, passed or with the first element that differs (in row-major order).
         *
         *     A NumPy reference is told once for each buffer that it defines.
         */
        Checked: {
            /**
             * Block
             * @default null
             */
            block?: [
                number,
                number,
                number
            ] | null;
            /** Buffer */
            buffer: string;
            /**
             * Check
             * @default null
             */
            check?: number | null;
            /**
             * Compared
             * @default true
             */
            compared?: boolean;
            /**
             * Differing
             * @default 0
             */
            differing?: number;
            /**
             * Expected
             * @default null
             */
            expected?: boolean | number | string | null;
            /**
             * Got
             * @default null
             */
            got?: boolean | number | string | null;
            /**
             * Index
             * @default null
             */
            index?: number[] | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "checked";
            /**
             * Message
             * @default
             */
            message?: string;
            /** Passed */
            passed: boolean;
            /**
             * Step
             * @default
             */
            step?: string;
            /**
             * Thread
             * @default null
             */
            thread?: [
                number,
                number,
                number
            ] | null;
        };
        /**
         * Comparison
         * @description Of two runs, by id.
         */
        Comparison: {
            /** Buffers */
            buffers: components["schemas"]["BufferDifference"][];
            /** First */
            first: string;
            /** Same Source */
            same_source: boolean;
            /** Second */
            second: string;
            /** Times */
            times: components["schemas"]["TimeComparison"][];
        };
        /**
         * Compiled
         * @description The source is compiled, or was found in the cache.
         */
        Compiled: {
            /** Architecture */
            architecture: string;
            /**
             * Cached
             * @default false
             */
            cached?: boolean;
            /** Entries */
            entries: components["schemas"]["Entry"][];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "compiled";
            /** Toolchain */
            toolchain: string;
        };
        /**
         * CompileRequest
         * @description Compile only: parameters, resources, occupancy and diagnostics.
         */
        CompileRequest: {
            /**
             * Architecture
             * @description A compute capability that the compiler targets, such as sm_90.
             * @default sm_90
             */
            architecture?: string;
            /**
             * Instantiations
             * @default []
             */
            instantiations?: string[];
            /**
             * @default {
             *       "default_device": false,
             *       "defines": [],
             *       "fast_math": false,
             *       "fmad": true,
             *       "max_registers": null,
             *       "standard": "c++17"
             *     }
             */
            options?: components["schemas"]["Options"];
            /**
             * Schema Version
             * @default 1
             */
            schema_version?: number;
            source: components["schemas"]["Source"];
            /**
             * Specialisations
             * @default []
             */
            specialisations?: components["schemas"]["Specialisation"][];
        };
        /**
         * Compiling
         * @description A worker has taken the run up; a second attempt follows a lost worker.
         */
        Compiling: {
            /** Attempt */
            attempt: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "compiling";
            /**
             * Worker
             * @default
             */
            worker?: string;
        };
        /**
         * Concluded
         * @description The end of a sweep: which cell is best, why, and what limits it, in words made of the cells' own figures.
         */
        Concluded: {
            /** Best */
            best: number | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "concluded";
            /** Text */
            text: string;
        };
        /**
         * Conditions
         * @description What the card's own sensors said while the series ran; the lowest and the highest of several looks.
         */
        Conditions: {
            /** Celsius */
            celsius: number;
            /** Looks */
            looks: number;
            /** Memory Mhz */
            memory_mhz: [
                number,
                number
            ];
            /** Sm Mhz */
            sm_mhz: [
                number,
                number
            ];
            /**
             * Throttled
             * @default []
             */
            throttled?: string[];
            /** Watts */
            watts: number;
        };
        /**
         * Counted
         * @description What an instrument counted over one launch.
         */
        Counted: {
            /** Counters */
            counters: {
                [key: string]: number;
            };
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "counted";
            /** Step */
            step: string;
        };
        /**
         * Cover
         * @description A grid with at least one thread for each element of a buffer: its last axis along x, the one before along y.
         */
        Cover: {
            /** Buffer */
            buffer: string;
            /**
             * Components
             * @default 1
             */
            components?: number;
            /**
             * Kind
             * @default cover
             * @constant
             */
            kind?: "cover";
        };
        /**
         * Define
         * @description A macro: -D name=value.
         */
        Define: {
            /** Name */
            name: string;
            /**
             * Value
             * @default 1
             */
            value?: string;
        };
        /**
         * DeviceInfo
         * @description One device that live workers offer.
         */
        DeviceInfo: {
            /**
             * Architecture
             * @default null
             */
            architecture?: string | null;
            /**
             * Driver
             * @default
             */
            driver?: string;
            /** Id */
            id: string;
            /**
             * Isolation
             * @enum {string}
             */
            isolation: "strong" | "weak" | "none";
            /**
             * Kind
             * @enum {string}
             */
            kind: "emulator" | "gpu";
            /**
             * Memory Bytes
             * @default 0
             */
            memory_bytes?: number;
            /**
             * Memory Mhz
             * @default 0
             */
            memory_mhz?: number;
            /** Name */
            name: string;
            /**
             * Notes
             * @default []
             */
            notes?: string[];
            /** @default null */
            peaks?: components["schemas"]["Peaks"] | null;
            /**
             * Queued
             * @default 0
             */
            queued?: number;
            /**
             * Sm Count
             * @default null
             */
            sm_count?: number | null;
            /**
             * Sm Mhz
             * @default 0
             */
            sm_mhz?: number;
            /**
             * Version
             * @default
             */
            version?: string;
            /**
             * Workers
             * @default 1
             */
            workers?: number;
        };
        /** Diagnosed */
        Diagnosed: {
            diagnostic: components["schemas"]["Diagnostic"];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "diagnosed";
        };
        /**
         * Diagnostic
         * @description One message. `span` is in the user's source; `field` is a path in the request, such as steps.0.config.block.
         */
        Diagnostic: {
            /**
             * Code
             * @default
             */
            code?: string;
            /**
             * Field
             * @default null
             */
            field?: string | null;
            /**
             * File
             * @default
             */
            file?: string;
            /** @default null */
            fix?: components["schemas"]["Fix"] | null;
            /**
             * Help
             * @default null
             */
            help?: string | null;
            /**
             * Labels
             * @default []
             */
            labels?: components["schemas"]["Label"][];
            /** Message */
            message: string;
            /**
             * Notes
             * @default []
             */
            notes?: string[];
            /**
             * Origin
             * @default compiler
             * @enum {string}
             */
            origin?: "compiler" | "assembler" | "emulator" | "launch" | "request" | "service" | "lint";
            /**
             * Severity
             * @enum {string}
             */
            severity: "error" | "warning" | "note" | "advice";
            /** @default null */
            span?: components["schemas"]["Span"] | null;
        };
        /**
         * Entry
         * @description A kernel that can be launched: in CUDA C++ a __global__ function.
         */
        Entry: {
            /**
             * Cluster
             * @default null
             */
            cluster?: [
                number,
                number,
                number
            ] | null;
            /**
             * Compiled
             * @default true
             */
            compiled?: boolean;
            /** Display */
            display: string;
            /**
             * Line
             * @default null
             */
            line?: number | null;
            /** Name */
            name: string;
            /**
             * Parameters
             * @default []
             */
            parameters?: components["schemas"]["Parameter"][];
            resources: components["schemas"]["Resources"];
            /**
             * Synchronises Grid
             * @default false
             */
            synchronises_grid?: boolean;
            /**
             * Types
             * @default null
             */
            types?: components["schemas"]["ArgumentType"][] | null;
            /**
             * Uses Clusters
             * @default false
             */
            uses_clusters?: boolean;
        };
        /**
         * EntryOccupancy
         * @description Occupancy of one entry at the launch asked for, and the curve over block sizes (32, 64, … 1,024 threads).
         */
        EntryOccupancy: {
            /**
             * Curve
             * @default []
             */
            curve?: components["schemas"]["OccupancyPoint"][];
            /** Entry */
            entry: string;
            /** @default null */
            occupancy?: components["schemas"]["Occupancy"] | null;
        };
        /**
         * Equals
         * @description After the last step a buffer must equal `expected`: |got − want| ≤ relative·|want| + absolute, NaN equals NaN.
         */
        Equals: {
            /**
             * Absolute
             * @default 0
             */
            absolute?: number;
            /** Buffer */
            buffer: string;
            /** Expected */
            expected: components["schemas"]["Zeros"] | components["schemas"]["Full"] | components["schemas"]["Arange"] | components["schemas"]["Linspace"] | components["schemas"]["Uniform"] | components["schemas"]["Normal"] | components["schemas"]["Integers"] | components["schemas"]["Formula"] | components["schemas"]["Literals"] | components["schemas"]["Uninitialised"] | components["schemas"]["Upload"];
            /**
             * Kind
             * @default equals
             * @constant
             */
            kind?: "equals";
            /**
             * Relative
             * @default 0
             */
            relative?: number;
        };
        /**
         * Estimate
         * @description Seconds that a launch would take on a GPU, told from a sample of its blocks (docs/estimate.md).
         */
        Estimate: {
            /**
             * Bounds
             * @default []
             */
            bounds?: components["schemas"]["Bound"][];
            /** Gpu */
            gpu: string;
            /**
             * Judged On
             * @default
             */
            judged_on?: string;
            /** Limiter */
            limiter: string;
            /**
             * Median Error
             * @default 0
             */
            median_error?: number;
            /**
             * P90 Error
             * @default 0
             */
            p90_error?: number;
            /**
             * Sampled Blocks
             * @default 0
             */
            sampled_blocks?: number;
            /** Seconds */
            seconds: number;
        };
        /**
         * Estimated
         * @description An estimate of one launch step of a run, or why there is none.
         */
        Estimated: {
            /** @default null */
            estimate?: components["schemas"]["Estimate"] | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "estimated";
            /** Step */
            step: string;
            /**
             * Why Not
             * @default
             */
            why_not?: string;
        };
        /**
         * EventRecord
         * @description An event with its place in the stream: id is <attempt>-<sequence>, at is Unix time in seconds.
         */
        EventRecord: {
            /** At */
            at: number;
            /** Event */
            event: components["schemas"]["Queued"] | components["schemas"]["Compiling"] | components["schemas"]["Compiled"] | components["schemas"]["Diagnosed"] | components["schemas"]["Launched"] | components["schemas"]["Printed"] | components["schemas"]["Found"] | components["schemas"]["Counted"] | components["schemas"]["Timed"] | components["schemas"]["BufferRead"] | components["schemas"]["Filmed"] | components["schemas"]["Checked"] | components["schemas"]["Swept"] | components["schemas"]["Concluded"] | components["schemas"]["Estimated"] | components["schemas"]["Traced"] | components["schemas"]["Baselined"] | components["schemas"]["Finished"];
            /** Id */
            id: string;
        };
        /**
         * Fill
         * @description Sets every element of a buffer between launches.
         */
        Fill: {
            /** Buffer */
            buffer: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "fill";
            /** Value */
            value: boolean | number | string;
        };
        /**
         * Film
         * @description Frames of one buffer: before the first round of a repeat, and after every `every`-th one.
         *
         *     A frame is the whole buffer that the name denotes at that moment, after the swaps of the round.
         */
        Film: {
            /** Buffer */
            buffer: string;
            /**
             * Every
             * @default 1
             */
            every?: number;
            /**
             * Step
             * @default null
             */
            step?: string | null;
        };
        /**
         * Filmed
         * @description A frame of the film, in the order of its rounds; its bytes are a blob, row-major.
         */
        Filmed: {
            /** Buffer */
            buffer: string;
            /** Bytes */
            bytes: number;
            /** Digest */
            digest: string;
            /**
             * Dtype
             * @enum {string}
             */
            dtype: "bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128";
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "filmed";
            /**
             * Maximum
             * @default null
             */
            maximum?: boolean | number | string | null;
            /**
             * Minimum
             * @default null
             */
            minimum?: boolean | number | string | null;
            /**
             * Not Finite
             * @default 0
             */
            not_finite?: number;
            /** Round */
            round: number;
            /** Shape */
            shape: number[];
        };
        /**
         * Finished
         * @description The end: ok, compile-error, error, signal, cancelled or limit:<name>.
         */
        Finished: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "finished";
            /**
             * Message
             * @default
             */
            message?: string;
            /**
             * Seconds
             * @default 0
             */
            seconds?: number;
            /** Verdict */
            verdict: string;
        };
        /**
         * Fix
         * @description What would mend it: a new value of a field of the request, or a text in place of a span of the source.
         */
        Fix: {
            /**
             * Field
             * @default null
             */
            field?: string | null;
            /** @default null */
            span?: components["schemas"]["Span"] | null;
            /**
             * Text
             * @default
             */
            text?: string;
            /** Title */
            title: string;
            /** @default null */
            value?: components["schemas"]["JsonValue"];
        };
        /**
         * Formula
         * @description An arithmetic expression in the index variables i (flat), x, y, z, w (last axis first) and the shape nx, ny…
         */
        Formula: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "formula";
            /** Text */
            text: string;
        };
        /**
         * Found
         * @description A defect of the kernel, seen while it ran.
         */
        Found: {
            /**
             * Access
             * @default null
             */
            access?: ("read" | "write" | "atomic") | null;
            /**
             * Advice
             * @default false
             */
            advice?: boolean;
            /**
             * Block
             * @default null
             */
            block?: [
                number,
                number,
                number
            ] | null;
            /**
             * Buffer
             * @default null
             */
            buffer?: string | null;
            /**
             * Bytes
             * @default null
             */
            bytes?: number | null;
            /**
             * Class
             * @enum {string}
             */
            class: "memory" | "race" | "initialisation" | "synchronisation" | "trap" | "assert" | "limit";
            /** Code */
            code: string;
            /**
             * Fatal
             * @default true
             */
            fatal?: boolean;
            /**
             * Index
             * @default null
             */
            index?: boolean | number | string | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "found";
            /**
             * Lane
             * @default null
             */
            lane?: number | null;
            /** Message */
            message: string;
            /**
             * Space
             * @default null
             */
            space?: string | null;
            /** @default null */
            span?: components["schemas"]["Span"] | null;
            /**
             * Step
             * @default
             */
            step?: string;
            /**
             * Thread
             * @default null
             */
            thread?: [
                number,
                number,
                number
            ] | null;
            /**
             * Warp
             * @default null
             */
            warp?: number | null;
        };
        /**
         * Full
         * @description Every element has one value.
         */
        Full: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "full";
            /** Value */
            value: boolean | number | string;
        };
        /**
         * GpuFit
         * @description How one GPU of `protocol.gpus` takes a kernel and the launch asked for.
         */
        GpuFit: {
            /**
             * Architecture
             * @description A compute capability that the compiler targets, such as sm_90.
             */
            architecture: string;
            /**
             * Entry
             * @default
             */
            entry?: string;
            /** Gpu */
            gpu: string;
            /** @default null */
            occupancy?: components["schemas"]["Occupancy"] | null;
            /** @default null */
            resources?: components["schemas"]["Resources"] | null;
            /**
             * Why Not
             * @default
             */
            why_not?: string;
        };
        /**
         * InspectReport
         * @description The answer. `verdict` is ok, compile-error, or what ended the compiler: error, signal, limit:<name>.
         */
        InspectReport: {
            /** Architecture */
            architecture: string;
            /**
             * Cached
             * @default false
             */
            cached?: boolean;
            /**
             * Diagnostics
             * @default []
             */
            diagnostics?: components["schemas"]["Diagnostic"][];
            /**
             * Entries
             * @default []
             */
            entries?: components["schemas"]["Entry"][];
            /**
             * Gpus
             * @default []
             */
            gpus?: components["schemas"]["GpuFit"][];
            /**
             * Lint
             * @default []
             */
            lint?: components["schemas"]["Diagnostic"][];
            /**
             * Message
             * @default
             */
            message?: string;
            /**
             * Occupancy
             * @default []
             */
            occupancy?: components["schemas"]["EntryOccupancy"][];
            /**
             * Ptx
             * @default
             */
            ptx?: string;
            /** @default null */
            recognised?: components["schemas"]["Recognised"] | null;
            /**
             * Seconds
             * @default 0
             */
            seconds?: number;
            /**
             * Toolchain
             * @default
             */
            toolchain?: string;
            /** Verdict */
            verdict: string;
        };
        /**
         * InspectRequest
         * @description Compile, and answer with entries, parameters, resources, diagnostics and, given a launch, occupancy.
         */
        InspectRequest: {
            compile: components["schemas"]["CompileRequest"];
            /**
             * Every Gpu
             * @default false
             */
            every_gpu?: boolean;
            /** @default null */
            launch?: components["schemas"]["OccupancyQuestion"] | null;
            /** @default null */
            lint?: components["schemas"]["LintQuestion"] | null;
            /**
             * Recognise
             * @default false
             */
            recognise?: boolean;
        };
        /**
         * Integers
         * @description numpy.random.default_rng(seed).integers(low, high): high is excluded.
         */
        Integers: {
            /** High */
            high: boolean | number | string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "integers";
            /**
             * Low
             * @default 0
             */
            low?: boolean | number | string;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
        };
        JsonValue: unknown;
        /**
         * Label
         * @description A further place that belongs to a diagnostic.
         */
        Label: {
            /** Message */
            message: string;
            span: components["schemas"]["Span"];
        };
        /**
         * Launch
         * @description One kernel launch. Where every argument is named they are matched by name, else by position.
         */
        Launch: {
            /**
             * Arguments
             * @default []
             */
            arguments?: (components["schemas"]["BufferArgument"] | components["schemas"]["ScalarArgument"] | components["schemas"]["VectorArgument"] | components["schemas"]["StructArgument"] | components["schemas"]["NullArgument"])[];
            config: components["schemas"]["LaunchConfig"];
            /**
             * Entry
             * @default
             */
            entry?: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "launch";
        };
        /**
         * LaunchConfig
         * @description Grid in blocks, block in threads, dynamic shared memory in bytes a block.
         */
        LaunchConfig: {
            /** Block */
            block: number[];
            /**
             * Cluster
             * @default null
             */
            cluster?: number[] | null;
            /**
             * Cooperative
             * @default false
             */
            cooperative?: boolean;
            /**
             * Dynamic Shared Bytes
             * @default 0
             */
            dynamic_shared_bytes?: number;
            /** Grid */
            grid: number[] | components["schemas"]["Cover"];
        };
        /**
         * Launched
         * @description A launch begins on a named device. Inside a repeat only the first round is told.
         */
        Launched: {
            /** Block */
            block: [
                number,
                number,
                number
            ];
            /**
             * Cluster
             * @default null
             */
            cluster?: [
                number,
                number,
                number
            ] | null;
            /**
             * Cooperative
             * @default false
             */
            cooperative?: boolean;
            /**
             * Device
             * @enum {string}
             */
            device: "emulator" | "gpu";
            /** Device Name */
            device_name: string;
            /** Dynamic Shared Bytes */
            dynamic_shared_bytes: number;
            /** Entry */
            entry: string;
            /** Grid */
            grid: [
                number,
                number,
                number
            ];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "launched";
            /** @default null */
            occupancy?: components["schemas"]["Occupancy"] | null;
            /** Step */
            step: string;
        };
        /**
         * Linspace
         * @description Evenly spaced from start to stop, both included, in row-major order.
         */
        Linspace: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "linspace";
            /**
             * Start
             * @default 0
             */
            start?: boolean | number | string;
            /**
             * Stop
             * @default 1
             */
            stop?: boolean | number | string;
        };
        /**
         * LintQuestion
         * @description The buffers and steps of a run that is still being typed: what of them looks wrong?
         */
        LintQuestion: {
            /**
             * Buffers
             * @default []
             */
            buffers?: components["schemas"]["Buffer"][];
            /** Steps */
            steps: (components["schemas"]["Launch"] | components["schemas"]["Repeat"] | components["schemas"]["Swap"] | components["schemas"]["Fill"])[];
        };
        /**
         * Literals
         * @description All elements, written out in row-major order.
         */
        Literals: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "literals";
            /** Values */
            values: (boolean | number | string)[];
        };
        /**
         * MacroAxis
         * @description A macro of the source and the values to try, such as TILE with 8, 16 and 32.
         */
        MacroAxis: {
            /** Name */
            name: string;
            /** Values */
            values: string[];
        };
        /**
         * Measured
         * @description Everything beside the one number.
         */
        Measured: {
            /** @default null */
            conditions?: components["schemas"]["Conditions"] | null;
            /**
             * Floor Seconds
             * @default null
             */
            floor_seconds?: number | null;
            /** @default null */
            peaks?: components["schemas"]["Peaks"] | null;
            /**
             * Remark
             * @default
             */
            remark?: string;
            /** Series */
            series: components["schemas"]["Series"][];
            /** @default null */
            work?: components["schemas"]["Work"] | null;
        };
        /**
         * Normal
         * @description numpy.random.default_rng(seed).standard_normal, times deviation plus mean.
         */
        Normal: {
            /**
             * Deviation
             * @default 1
             */
            deviation?: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "normal";
            /**
             * Mean
             * @default 0
             */
            mean?: number;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
        };
        /**
         * NullArgument
         * @description A null pointer.
         */
        NullArgument: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "null";
            /**
             * Name
             * @default null
             */
            name?: string | null;
        };
        /**
         * NumpyReference
         * @description After the last step each of `buffers` must hold what `text`, Python code, assigns to its name.
         *
         *     The code sees every buffer as a NumPy array of its dtype (bfloat16 by ml_dtypes) and shape with its values before
         *     the run, named as in the request; a buffer that starts uninitialised has no name until the code assigns it. It
         *     sees the scalars of the launches as NumPy scalars, and vectors as arrays, under the names of the kernel's
         *     parameters (of two launches that differ the first one counts), and `np`, `numpy` and `ml_dtypes`. To every buffer
         *     that it is to check it assigns an array, or changes it in place: of the buffer's shape, and of a dtype whose
         *     numbers the buffer's can hold (float64 and int64 for float32, int64 for uint8, not float for int).
         *
         *     |got − want| ≤ relative·|want| + absolute, as in numpy.allclose, NaN equals NaN; integers and bool must be equal.
         */
        NumpyReference: {
            /**
             * Absolute
             * @default 1e-8
             */
            absolute?: number;
            /** Buffers */
            buffers: string[];
            /**
             * Kind
             * @default numpy
             * @constant
             */
            kind?: "numpy";
            /**
             * Relative
             * @default 0.00001
             */
            relative?: number;
            /** Text */
            text: string;
        };
        /**
         * Occupancy
         * @description Theoretical occupancy of one launch on one SM of an architecture, and how its grid fills a GPU.
         */
        Occupancy: {
            /**
             * Architecture
             * @description A compute capability that the compiler targets, such as sm_90.
             */
            architecture: string;
            /** Blocks Per Sm */
            blocks_per_sm: number;
            /**
             * Driver Blocks Per Sm
             * @default null
             */
            driver_blocks_per_sm?: number | null;
            /** Gpu */
            gpu: string;
            /** Limiters */
            limiters: string[];
            /** Limits */
            limits: components["schemas"]["OccupancyLimit"][];
            /** Max Warps Per Sm */
            max_warps_per_sm: number;
            /** Sm Count */
            sm_count: number;
            /** Tail */
            tail: number;
            /** Warps Per Sm */
            warps_per_sm: number;
            /** Waves */
            waves: number;
        };
        /**
         * OccupancyLimit
         * @description Blocks an SM that one resource allows.
         */
        OccupancyLimit: {
            /** Blocks */
            blocks: number;
            /**
             * Resource
             * @enum {string}
             */
            resource: "warps" | "blocks" | "registers" | "shared" | "barriers";
        };
        /**
         * OccupancyPoint
         * @description Occupancy at one block size.
         */
        OccupancyPoint: {
            /** Block Threads */
            block_threads: number;
            /** Blocks Per Sm */
            blocks_per_sm: number;
            /** Limiters */
            limiters: string[];
            /** Warps Per Sm */
            warps_per_sm: number;
        };
        /**
         * OccupancyQuestion
         * @description A configuration to compute occupancy for.
         */
        OccupancyQuestion: {
            /** Block */
            block: number[];
            /**
             * Dynamic Shared Bytes
             * @default 0
             */
            dynamic_shared_bytes?: number;
            /**
             * Grid
             * @default [
             *       1,
             *       1,
             *       1
             *     ]
             */
            grid?: number[];
        };
        /**
         * Options
         * @description Every compiler option that a request may set; nothing else reaches a compiler's command line.
         */
        Options: {
            /**
             * Default Device
             * @default false
             */
            default_device?: boolean;
            /**
             * Defines
             * @default []
             */
            defines?: components["schemas"]["Define"][];
            /**
             * Fast Math
             * @default false
             */
            fast_math?: boolean;
            /**
             * Fmad
             * @default true
             */
            fmad?: boolean;
            /**
             * Max Registers
             * @default null
             */
            max_registers?: number | null;
            /**
             * Standard
             * @default c++17
             * @enum {string}
             */
            standard?: "c++11" | "c++14" | "c++17" | "c++20";
        };
        /**
         * Parameter
         * @description One parameter of a __global__ function. `dtype` is of the value, of a vector's component or of the pointee.
         */
        Parameter: {
            /** Bytes */
            bytes: number;
            /**
             * Components
             * @default 1
             */
            components?: number;
            /**
             * Const
             * @default false
             */
            const?: boolean;
            /**
             * Dimensions
             * @default 0
             */
            dimensions?: number;
            /**
             * Dtype
             * @default null
             */
            dtype?: ("bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128") | null;
            /**
             * Kind
             * @enum {string}
             */
            kind: "pointer" | "scalar" | "vector" | "struct" | "unknown";
            /** Name */
            name: string;
            /** Offset */
            offset: number;
            /**
             * Pieces
             * @default []
             */
            pieces?: number[];
            /** Type */
            type: string;
        };
        /**
         * Peaks
         * @description What this card was measured to do at most when its worker started.
         */
        Peaks: {
            /** Bytes Per Second */
            bytes_per_second: number;
            /** Flops Per Second */
            flops_per_second: number;
        };
        /**
         * Printed
         * @description Text from the kernel's printf, as it comes.
         */
        Printed: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "printed";
            /** Text */
            text: string;
        };
        /**
         * Queued
         * @description The run was accepted. `device` is the resolved one.
         */
        Queued: {
            /** Device */
            device: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "queued";
            /**
             * Position
             * @default 0
             */
            position?: number;
        };
        /**
         * Recognised
         * @description What the text holds; `verdict` as of InspectReport. Diagnostics point into the Python text.
         */
        Recognised: {
            /**
             * Diagnostics
             * @default []
             */
            diagnostics?: components["schemas"]["Diagnostic"][];
            /**
             * Kernels
             * @default []
             */
            kernels?: components["schemas"]["RecognisedKernel"][];
            /**
             * Message
             * @default
             */
            message?: string;
            /**
             * Numba
             * @default false
             */
            numba?: boolean;
            /**
             * Verdict
             * @default ok
             */
            verdict?: string;
        };
        /**
         * RecognisedKernel
         * @description One kernel of the text, ready to run. Raw kernels, and those of Numba, have arguments where a launch in the text
         *     can be read; else they follow once the source is compiled.
         */
        RecognisedKernel: {
            /**
             * Kind
             * @enum {string}
             */
            kind: "RawKernel" | "RawModule" | "ElementwiseKernel" | "ReductionKernel" | "numba";
            /** Line */
            line: number;
            /** Name */
            name: string;
            request: components["schemas"]["RunRequest"];
        };
        /**
         * RecogniseRequest
         * @description A Python text that is read, never run.
         */
        RecogniseRequest: {
            source: components["schemas"]["Source"];
        };
        /**
         * Repeat
         * @description The inner steps, count times.
         */
        Repeat: {
            /** Count */
            count: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "repeat";
            /** Steps */
            steps: (components["schemas"]["Launch"] | components["schemas"]["Repeat"] | components["schemas"]["Swap"] | components["schemas"]["Fill"])[];
        };
        /**
         * Resources
         * @description What one thread, or one block, of an entry takes, as the assembler reports for one architecture.
         */
        Resources: {
            /**
             * Barriers
             * @default 0
             */
            barriers?: number;
            /**
             * Constant Bytes
             * @default 0
             */
            constant_bytes?: number;
            /**
             * Local Bytes
             * @default 0
             */
            local_bytes?: number;
            /**
             * Max Threads Per Block
             * @default 1024
             */
            max_threads_per_block?: number;
            /** Registers */
            registers: number;
            /**
             * Spill Load Bytes
             * @default 0
             */
            spill_load_bytes?: number;
            /**
             * Spill Store Bytes
             * @default 0
             */
            spill_store_bytes?: number;
            /**
             * Static Shared Bytes
             * @default 0
             */
            static_shared_bytes?: number;
        };
        /**
         * RunRequest
         * @description A whole run: source, options, buffers, steps and checks; with a sweep, one for several block shapes.
         */
        RunRequest: {
            /**
             * Architecture
             * @description A compute capability that the compiler targets, such as sm_90.
             * @default sm_90
             */
            architecture?: string;
            /**
             * Baselines
             * @default []
             */
            baselines?: components["schemas"]["Baseline"][];
            /**
             * Buffers
             * @default []
             */
            buffers?: components["schemas"]["Buffer"][];
            /**
             * Checks
             * @default []
             */
            checks?: (components["schemas"]["Equals"] | components["schemas"]["NumpyReference"])[];
            /**
             * Device
             * @description auto, emulator, gpu, or gpu:<type> such as gpu:h200
             * @default auto
             */
            device?: string;
            /**
             * Estimate
             * @default null
             */
            estimate?: string | null;
            /** @default null */
            film?: components["schemas"]["Film"] | null;
            /**
             * Instruments
             * @default []
             */
            instruments?: ("checks" | "counters")[];
            /**
             * @default {
             *       "default_device": false,
             *       "defines": [],
             *       "fast_math": false,
             *       "fmad": true,
             *       "max_registers": null,
             *       "standard": "c++17"
             *     }
             */
            options?: components["schemas"]["Options"];
            /**
             * Schema Version
             * @default 1
             */
            schema_version?: number;
            source: components["schemas"]["Source"];
            /** Steps */
            steps: (components["schemas"]["Launch"] | components["schemas"]["Repeat"] | components["schemas"]["Swap"] | components["schemas"]["Fill"])[];
            /** @default null */
            sweep?: components["schemas"]["Sweep"] | null;
            /** @default null */
            trace?: components["schemas"]["TraceWish"] | null;
            /** @default null */
            work?: components["schemas"]["Work"] | null;
        };
        /**
         * RunResult
         * @description The fold of a run's events, of its latest attempt.
         */
        RunResult: {
            /**
             * Attempt
             * @default 0
             */
            attempt?: number;
            /**
             * Baselines
             * @default []
             */
            baselines?: components["schemas"]["Baselined"][];
            /**
             * Buffers
             * @default []
             */
            buffers?: components["schemas"]["BufferRead"][];
            /**
             * Checks
             * @default []
             */
            checks?: components["schemas"]["Checked"][];
            /** @default null */
            compiled?: components["schemas"]["Compiled"] | null;
            /** @default null */
            conclusion?: components["schemas"]["Concluded"] | null;
            /**
             * Counters
             * @default []
             */
            counters?: components["schemas"]["Counted"][];
            /**
             * Device
             * @default
             */
            device?: string;
            /**
             * Diagnostics
             * @default []
             */
            diagnostics?: components["schemas"]["Diagnostic"][];
            /**
             * Estimates
             * @default []
             */
            estimates?: components["schemas"]["Estimated"][];
            /**
             * Film
             * @default []
             */
            film?: components["schemas"]["Filmed"][];
            /**
             * Findings
             * @default []
             */
            findings?: components["schemas"]["Found"][];
            /**
             * Launches
             * @default []
             */
            launches?: components["schemas"]["Launched"][];
            /**
             * Message
             * @default
             */
            message?: string;
            /**
             * Printed
             * @default
             */
            printed?: string;
            /**
             * Printed Truncated
             * @default false
             */
            printed_truncated?: boolean;
            /**
             * Schema Version
             * @default 1
             */
            schema_version?: number;
            /**
             * State
             * @default queued
             * @enum {string}
             */
            state?: "queued" | "running" | "finished";
            /**
             * Sweep
             * @default []
             */
            sweep?: components["schemas"]["Swept"][];
            /**
             * Timings
             * @default []
             */
            timings?: components["schemas"]["Timed"][];
            /**
             * Traces
             * @default []
             */
            traces?: components["schemas"]["Traced"][];
            /**
             * Verdict
             * @default null
             */
            verdict?: string | null;
        };
        /**
         * ScalarArgument
         * @description A number by value. Without a dtype the kernel's parameter decides it.
         */
        ScalarArgument: {
            /**
             * Dtype
             * @default null
             */
            dtype?: ("bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128") | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "scalar";
            /**
             * Name
             * @default null
             */
            name?: string | null;
            /** Value */
            value: boolean | number | string;
        };
        /**
         * Series
         * @description Launches one after another on the same data, each between two events of the GPU.
         *
         *     `low` to `high` is spanned by two order statistics that hold the median of all such launches with a probability of
         *     95 % or more, whatever their distribution, where the number of launches is fixed. A series ends early on a narrow
         *     interval: simulated, that leaves 94 to 95 % for one mode and 87 to 92 % for two that lie 10 % apart.
         */
        Series: {
            /**
             * Cache
             * @enum {string}
             */
            cache: "warm" | "cold";
            /** High */
            high: number;
            /** Low */
            low: number;
            /** Median */
            median: number;
            /** Samples */
            samples: number[];
            /**
             * Stopped
             * @enum {string}
             */
            stopped: "precise" | "count" | "time";
        };
        /**
         * SharePayload
         * @description What a link holds for ever.
         */
        SharePayload: {
            request: components["schemas"]["RunRequest"];
            /**
             * Schema Version
             * @default 1
             */
            schema_version?: number;
            /**
             * Title
             * @default
             */
            title?: string;
            /**
             * Views
             * @default {}
             */
            views?: {
                [key: string]: components["schemas"]["BufferView"];
            };
        };
        /**
         * Source
         * @description One file of source code, at most 256 KiB of UTF-8 without NUL.
         */
        Source: {
            /**
             * File Name
             * @default kernel.cu
             */
            file_name?: string;
            /**
             * Language
             * @default cuda-c++
             * @enum {string}
             */
            language?: "cuda-c++" | "ptx" | "numba";
            /** Text */
            text: string;
        };
        /**
         * Span
         * @description Lines and columns count from 1, columns in Unicode code points; the end is exclusive.
         */
        Span: {
            /**
             * Column
             * @default 1
             */
            column?: number;
            /**
             * End Column
             * @default null
             */
            end_column?: number | null;
            /**
             * End Line
             * @default null
             */
            end_line?: number | null;
            /** Line */
            line: number;
        };
        /**
         * Specialisation
         * @description A kernel, by name, with the types that a launch calls it with.
         */
        Specialisation: {
            /**
             * Arguments
             * @default []
             */
            arguments?: components["schemas"]["ArgumentType"][];
            /**
             * Entry
             * @default
             */
            entry?: string;
        };
        /**
         * StructArgument
         * @description A struct by value: its bytes, in hexadecimal.
         */
        StructArgument: {
            /** Hex */
            hex: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "struct";
            /**
             * Name
             * @default null
             */
            name?: string | null;
        };
        /**
         * Swap
         * @description The two names change places: what was one buffer is now the other. Same dtype and shape.
         */
        Swap: {
            /** First */
            first: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "swap";
            /** Second */
            second: string;
        };
        /**
         * Sweep
         * @description Runs all steps for every cell, each time from the buffers' initial values.
         *
         *     A cell is a block shape, which takes the place of the block in one launch step, with a value for each macro. Its
         *     grid follows (`swept_grid`), or is given by expressions. What the run reads back, checks and prints is of the first
         *     cell that can run. Cells run in an order of chance, so that no trend of the machine favours some.
         *
         *     Expressions (`protocol.expressions`) know block_x, block_y, block_z, threads, warps, the macros, the launch's
         *     scalar arguments by name and len(buffer); restrictions also grid_x, grid_y, grid_z, blocks and shared_bytes.
         */
        Sweep: {
            /** Blocks */
            blocks: number[][];
            /**
             * Dynamic Shared Bytes
             * @default
             */
            dynamic_shared_bytes?: string;
            /**
             * Grid
             * @default []
             */
            grid?: string[];
            /**
             * Macros
             * @default []
             */
            macros?: components["schemas"]["MacroAxis"][];
            /**
             * Sample
             * @default null
             */
            sample?: number | null;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
            /**
             * Step
             * @default null
             */
            step?: string | null;
            /**
             * Where
             * @default []
             */
            where?: string[];
        };
        /**
         * Swept
         * @description How one cell of a sweep did. A later one of the same index takes its place.
         */
        Swept: {
            /** Block */
            block: [
                number,
                number,
                number
            ];
            /**
             * Clock
             * @default wall
             * @enum {string}
             */
            clock?: "wall" | "gpu-events";
            /**
             * Device Name
             * @default
             */
            device_name?: string;
            /**
             * Diagnostics
             * @default []
             */
            diagnostics?: components["schemas"]["Diagnostic"][];
            /**
             * Differs At
             * @default
             */
            differs_at?: string;
            /**
             * Dynamic Shared Bytes
             * @default 0
             */
            dynamic_shared_bytes?: number;
            /** @default null */
            estimate?: components["schemas"]["Estimate"] | null;
            /** Grid */
            grid: [
                number,
                number,
                number
            ];
            /** Index */
            index: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "swept";
            /**
             * Macros
             * @default {}
             */
            macros?: {
                [key: string]: string;
            };
            /** @default null */
            occupancy?: components["schemas"]["Occupancy"] | null;
            /**
             * Passed
             * @default null
             */
            passed?: boolean | null;
            /** Registers */
            registers: number;
            /**
             * Same As First
             * @default null
             */
            same_as_first?: boolean | null;
            /**
             * Samples
             * @default 0
             */
            samples?: number;
            /**
             * Seconds
             * @default null
             */
            seconds?: number | null;
            /**
             * Spill Bytes
             * @default 0
             */
            spill_bytes?: number;
            /**
             * State
             * @enum {string}
             */
            state: "ran" | "refused" | "failed" | "not-run" | "excluded";
            /** Step */
            step: string;
        };
        /**
         * TimeComparison
         * @description Times of the launches of one step in two runs.
         */
        TimeComparison: {
            /** First */
            first: number;
            /**
             * First Clock
             * @enum {string}
             */
            first_clock: "wall" | "gpu-events";
            /** Reason */
            reason: string;
            /** Second */
            second: number;
            /**
             * Second Clock
             * @enum {string}
             */
            second_clock: "wall" | "gpu-events";
            /** Step */
            step: string;
            /**
             * Verdict
             * @enum {string}
             */
            verdict: "faster" | "slower" | "same" | "not-comparable";
        };
        /**
         * Timed
         * @description Time of one stage. Only `gpu-events` is GPU time; the emulator's is `wall` time of a CPU.
         */
        Timed: {
            /**
             * Clock
             * @default wall
             * @enum {string}
             */
            clock?: "wall" | "gpu-events";
            /**
             * Cold Seconds
             * @default null
             */
            cold_seconds?: number | null;
            /**
             * First Seconds
             * @default null
             */
            first_seconds?: number | null;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "timed";
            /**
             * Launches
             * @default 1
             */
            launches?: number;
            /** @default null */
            measured?: components["schemas"]["Measured"] | null;
            /**
             * Note
             * @default
             */
            note?: string;
            /**
             * Samples
             * @default 1
             */
            samples?: number;
            /** Seconds */
            seconds: number;
            /**
             * Stage
             * @enum {string}
             */
            stage: "queue" | "sandbox" | "compile" | "jit" | "setup" | "reference" | "run" | "repeat" | "film" | "transfer" | "total";
            /**
             * Step
             * @default
             */
            step?: string;
        };
        /**
         * Traced
         * @description One block and warp of a launch, or why they could not be traced.
         */
        Traced: {
            /**
             * Accesses
             * @default []
             */
            accesses?: components["schemas"]["TracedAccess"][];
            /** Block */
            block: [
                number,
                number,
                number
            ];
            /**
             * Blocks
             * @default []
             */
            blocks?: components["schemas"]["BlockLanes"][];
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "traced";
            /** Step */
            step: string;
            /** Warp */
            warp: number;
            /**
             * Why Not
             * @default
             */
            why_not?: string;
        };
        /**
         * TracedAccess
         * @description One instruction that the warp executed: the first of its `times` executions.
         */
        TracedAccess: {
            /**
             * Access
             * @enum {string}
             */
            access: "read" | "write" | "atomic";
            /**
             * Buffer
             * @default
             */
            buffer?: string;
            /** Bytes */
            bytes: number;
            /** Form */
            form: string;
            /** Offsets */
            offsets: (number | null)[];
            /**
             * Ptx Line
             * @default 0
             */
            ptx_line?: number;
            /** Space */
            space: string;
            /** @default null */
            span?: components["schemas"]["Span"] | null;
            /** Times */
            times: number;
        };
        /**
         * TraceWish
         * @description The warp to look at. The emulator runs its block once more, after the results are told.
         */
        TraceWish: {
            /**
             * Block
             * @default [
             *       0,
             *       0,
             *       0
             *     ]
             */
            block?: [
                number,
                number,
                number
            ];
            /**
             * Step
             * @default null
             */
            step?: string | null;
            /**
             * Warp
             * @default 0
             */
            warp?: number;
        };
        /**
         * Uniform
         * @description numpy.random.default_rng(seed).random, scaled to [low, high).
         */
        Uniform: {
            /**
             * High
             * @default 1
             */
            high?: number;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "uniform";
            /**
             * Low
             * @default 0
             */
            low?: number;
            /**
             * Seed
             * @default 0
             */
            seed?: number;
        };
        /**
         * Uninitialised
         * @description Left as allocated; reading it before writing is a defect.
         */
        Uninitialised: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "uninitialised";
        };
        /**
         * Upload
         * @description The contents of an uploaded .npy file, which must have the buffer's dtype and shape.
         */
        Upload: {
            /** Digest */
            digest: string;
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "upload";
        };
        /**
         * VectorArgument
         * @description A CUDA vector type by value, such as float4: its components in order.
         */
        VectorArgument: {
            /**
             * Dtype
             * @enum {string}
             */
            dtype: "bool" | "int8" | "uint8" | "int16" | "uint16" | "int32" | "uint32" | "int64" | "uint64" | "float16" | "bfloat16" | "float32" | "float64" | "complex64" | "complex128";
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "vector";
            /**
             * Name
             * @default null
             */
            name?: string | null;
            /** Values */
            values: (boolean | number | string)[];
        };
        /**
         * Work
         * @description Bytes that one launch must move to and from the GPU's memory, and its operations in floating point.
         */
        Work: {
            /**
             * Bytes
             * @default null
             */
            bytes?: number | null;
            /**
             * Flops
             * @default null
             */
            flops?: number | null;
            /**
             * Origin
             * @default declared
             * @enum {string}
             */
            origin?: "declared" | "buffers";
        };
        /** Zeros */
        Zeros: {
            /**
             * @description discriminator enum property added by openapi-typescript
             * @enum {string}
             */
            kind: "zeros";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
