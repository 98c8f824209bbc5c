// Ends the program where a call of the CUDA runtime fails.
#define HOST_CHECK(call)                                                                                   \
    do {                                                                                                   \
        cudaError_t host_status = (call);                                                                  \
        if (host_status != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(host_status)); \
            exit(1);                                                                                       \
        }                                                                                                  \
    } while (0)

namespace host_side {

[[noreturn]] inline void fail(const std::string &message)
{
    fprintf(stderr, "%s\n", message.c_str());
    exit(1);
}

// Elements that C++ has no types for, by their bits.
struct Bool { uint8_t bits; };
struct Half { uint16_t bits; };
struct Bfloat16 { uint16_t bits; };
template <typename T> struct Complex { T real, imag; };

// A buffer on the host: its elements in row-major order.
struct Buffer {
    std::string name, dtype;
    std::vector<size_t> shape;
    size_t item_bytes;
    bool result, left_as_allocated;
    std::vector<unsigned char> bytes;

    size_t count() const
    {
        size_t elements = 1;
        for (size_t extent : shape)
            elements *= extent;
        return elements;
    }
    template <typename T> T *elements() { return reinterpret_cast<T *>(bytes.data()); }
    template <typename T> const T *elements() const { return reinterpret_cast<const T *>(bytes.data()); }
};

// All elements 0.
inline Buffer make_buffer(const char *name, const char *dtype, size_t item_bytes, bool result, std::vector<size_t> shape)
{
    Buffer buffer{name, dtype, shape, item_bytes, result, false, {}};
    buffer.bytes.resize(buffer.count() * item_bytes);
    return buffer;
}

// An address in the GPU's memory, which any pointer parameter takes.
struct Pointer {
    void *address;
    template <typename T> operator T *() const { return static_cast<T *>(address); }
};

// An argument by its bytes, such as a struct.
template <size_t size> struct Bytes {
    unsigned char bytes[size];
    template <typename T> operator T() const
    {
        static_assert(sizeof(T) == size, "the argument has another size than the parameter");
        T value;
        memcpy(static_cast<void *>(&value), bytes, size);
        return value;
    }
};

// An address as an argument of a type that is not known.
inline Bytes<8> raw(Pointer pointer)
{
    Bytes<8> result;
    memcpy(result.bytes, &pointer.address, 8);
    return result;
}

inline void allocate(Pointer &pointer, const Buffer &buffer)
{
    HOST_CHECK(cudaMalloc(&pointer.address, buffer.bytes.size()));
}

inline void copy_in(Pointer pointer, const Buffer &buffer)
{
    if (!buffer.left_as_allocated)
        HOST_CHECK(cudaMemcpy(pointer.address, buffer.bytes.data(), buffer.bytes.size(), cudaMemcpyHostToDevice));
}

inline void copy_out(Buffer &buffer, Pointer pointer)
{
    HOST_CHECK(cudaMemcpy(buffer.bytes.data(), pointer.address, buffer.bytes.size(), cudaMemcpyDeviceToHost));
}

// Every element gets the bytes of `element`.
template <size_t size> inline void fill(Pointer pointer, size_t count, const Bytes<size> &element)
{
    std::vector<unsigned char> values(count * size);
    for (size_t i = 0; i < count; ++i)
        memcpy(&values[i * size], element.bytes, size);
    HOST_CHECK(cudaMemcpy(pointer.address, values.data(), values.size(), cudaMemcpyHostToDevice));
}

// A .npy file of format 1.0; bfloat16 is stored as uint16.
inline void write_npy(const std::string &folder, const Buffer &buffer)
{
    static const char *const types[][2] = {
        {"bool", "|b1"}, {"int8", "|i1"}, {"uint8", "|u1"}, {"int16", "<i2"}, {"uint16", "<u2"},
        {"int32", "<i4"}, {"uint32", "<u4"}, {"int64", "<i8"}, {"uint64", "<u8"}, {"float16", "<f2"},
        {"bfloat16", "<u2"}, {"float32", "<f4"}, {"float64", "<f8"}, {"complex64", "<c8"}, {"complex128", "<c16"},
    };
    std::string header = "{'descr': '";
    for (const char *const(&type)[2] : types)
        if (buffer.dtype == type[0])
            header += type[1];
    header += "', 'fortran_order': False, 'shape': (";
    for (size_t extent : buffer.shape)
        header += std::to_string(extent) + ",";
    header += "), }";
    header.resize((header.size() + 11 + 63) / 64 * 64 - 10, ' ');
    header.back() = '\n';
    std::string path = folder + "/" + buffer.name + ".npy";
    FILE *file = fopen(path.c_str(), "wb");
    if (!file)
        fail(path + " cannot be written");
    unsigned char size[2] = {(unsigned char)(header.size() & 255), (unsigned char)(header.size() >> 8)};
    bool written = fwrite("\x93NUMPY\x01\x00", 1, 8, file) == 8 && fwrite(size, 1, 2, file) == 2 &&
                   fwrite(header.data(), 1, header.size(), file) == header.size() &&
                   fwrite(buffer.bytes.data(), 1, buffer.bytes.size(), file) == buffer.bytes.size();
    if (fclose(file) != 0 || !written)
        fail(path + " cannot be written");
}

inline float as_float(Half value)
{
    int exponent = value.bits >> 10 & 31, fraction = value.bits & 1023;
    double number = exponent == 31 ? (fraction ? (double)NAN : HUGE_VAL)
                  : exponent       ? ldexp(1024 + fraction, exponent - 25)
                                   : ldexp(fraction, -24);
    return (float)(value.bits >> 15 ? -number : number);
}

inline float as_float(Bfloat16 value)
{
    uint32_t bits = (uint32_t)value.bits << 16;
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

inline std::string text(double value, int digits = 17)
{
    char buffer[40];
    snprintf(buffer, sizeof buffer, "%.*g", digits, value);
    return buffer;
}
inline std::string text(float value) { return text(value, 9); }
inline std::string text(long long value) { return std::to_string(value); }
inline std::string text(unsigned long long value) { return std::to_string(value); }
template <typename T> inline std::string text(Complex<T> value) { return text(value.real) + "+" + text(value.imag) + "i"; }

template <typename T, typename Shown> inline void print_elements(const Buffer &buffer, Shown (*shown)(T))
{
    const T *elements = buffer.elements<T>();
    size_t count = buffer.count(), finite = 0;
    Shown low = Shown(), high = Shown();
    for (size_t i = 0; i < count; ++i) {
        Shown value = shown(elements[i]);
        if (!std::isfinite((double)value))
            continue;
        low = finite && low < value ? low : value;
        high = finite && value < high ? high : value;
        ++finite;
    }
    if (finite)
        printf("  min %s  max %s", text(low).c_str(), text(high).c_str());
    if (finite < count)
        printf("  not finite %zu", count - finite);
    printf("  [");
    for (size_t i = 0; i < count && i < 8; ++i)
        printf("%s%s", i ? ", " : "", text(shown(elements[i])).c_str());
    printf(count > 8 ? ", ...]\n" : "]\n");
}

template <typename T> inline void print_complex(const Buffer &buffer)
{
    printf("  [");
    for (size_t i = 0; i < buffer.count() && i < 8; ++i)
        printf("%s%s", i ? ", " : "", text(buffer.elements<Complex<T>>()[i]).c_str());
    printf(buffer.count() > 8 ? ", ...]\n" : "]\n");
}

template <typename T> inline long long as_signed(T value) { return value; }
template <typename T> inline unsigned long long as_unsigned(T value) { return value; }
template <typename T> inline T as_itself(T value) { return value; }

// One line: dtype, shape, extremes, first elements.
inline void print_summary(const Buffer &buffer)
{
    printf("%s  %s[", buffer.name.c_str(), buffer.dtype.c_str());
    for (size_t axis = 0; axis < buffer.shape.size(); ++axis)
        printf("%s%zu", axis ? ", " : "", buffer.shape[axis]);
    printf("]");
    const std::string &dtype = buffer.dtype;
    if (dtype == "bool" || dtype == "uint8") print_elements<uint8_t>(buffer, as_unsigned<uint8_t>);
    else if (dtype == "int8") print_elements<int8_t>(buffer, as_signed<int8_t>);
    else if (dtype == "int16") print_elements<int16_t>(buffer, as_signed<int16_t>);
    else if (dtype == "uint16") print_elements<uint16_t>(buffer, as_unsigned<uint16_t>);
    else if (dtype == "int32") print_elements<int32_t>(buffer, as_signed<int32_t>);
    else if (dtype == "uint32") print_elements<uint32_t>(buffer, as_unsigned<uint32_t>);
    else if (dtype == "int64") print_elements<int64_t>(buffer, as_signed<int64_t>);
    else if (dtype == "uint64") print_elements<uint64_t>(buffer, as_unsigned<uint64_t>);
    else if (dtype == "float16") print_elements<Half, float>(buffer, as_float);
    else if (dtype == "bfloat16") print_elements<Bfloat16, float>(buffer, as_float);
    else if (dtype == "float32") print_elements<float>(buffer, as_itself<float>);
    else if (dtype == "float64") print_elements<double>(buffer, as_itself<double>);
    else if (dtype == "complex64") print_complex<float>(buffer);
    else print_complex<double>(buffer);
}

struct Choices {
    std::string save, initial;
    int rounds;
};

inline Choices read_choices(int count, char **words, int rounds)
{
    Choices choices{"", "", rounds};
    for (int i = 1; i < count; ++i) {
        std::string word = words[i];
        if (word == "--save" && i + 1 < count)
            choices.save = words[++i];
        else if (word == "--initial" && i + 1 < count)
            choices.initial = words[++i];
        else if (word == "--rounds" && i + 1 < count)
            choices.rounds = atoi(words[++i]);
        else
            fail(std::string("usage: ") + words[0] + " [--save FOLDER] [--initial FOLDER] [--rounds N]");
    }
    return choices;
}

}  // namespace host_side
