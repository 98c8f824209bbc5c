namespace host_side {

// A frame more, behind those that the first axis of `film` counts.
inline void append(Buffer &film, size_t bytes, Pointer pointer)
{
    size_t before = film.bytes.size();
    film.bytes.resize(before + bytes);
    HOST_CHECK(cudaMemcpy(film.bytes.data() + before, pointer.address, bytes, cudaMemcpyDeviceToHost));
    ++film.shape[0];
}

}  // namespace host_side
