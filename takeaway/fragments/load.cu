namespace host_side {

// Fills a buffer from NAME.npy in the working folder, which must have its dtype and shape, in C order.
inline void load_npy(Buffer &buffer, const char *type)
{
    std::string path = buffer.name + ".npy", shape = "'shape':(";
    FILE *file = fopen(path.c_str(), "rb");
    if (!file)
        fail(path + " cannot be opened");
    unsigned char start[12] = {0};
    bool whole = fread(start, 1, 10, file) == 10 && memcmp(start, "\x93NUMPY", 6) == 0;
    size_t size = start[8] + 256 * (size_t)start[9];
    if (whole && start[6] == 2) {
        whole = fread(start + 10, 1, 2, file) == 2;
        size += 65536 * (size_t)start[10] + 16777216 * (size_t)start[11];
    }
    std::string header(whole && size < 65536 ? size : 0, ' '), plain;
    if (header.empty() || fread(&header[0], 1, size, file) != size)
        fail(path + " is not a .npy file");
    for (char letter : header)
        if (letter != ' ')
            plain += letter;
    for (size_t axis = 0; axis < buffer.shape.size(); ++axis)
        shape += (axis ? "," : "") + std::to_string(buffer.shape[axis]);
    shape += buffer.shape.size() == 1 ? ",)" : ")";
    bool row_major = plain.find("'fortran_order':False") != std::string::npos;
    if (!row_major || plain.find(std::string("'descr':'") + type + "'") == std::string::npos ||
        plain.find(shape) == std::string::npos)
        fail(path + " does not hold " + type + " in C order with " + shape + ": " + header);
    if (fread(buffer.bytes.data(), 1, buffer.bytes.size(), file) != buffer.bytes.size())
        fail(path + " is too short");
    fclose(file);
}

}  // namespace host_side
