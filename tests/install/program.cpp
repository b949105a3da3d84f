/* program.cpp MODEL: the same as program.c, by ox.hpp. */
#include <ox.hpp>

#include <cstdio>

int main(int argc, char **argv) {
    try {
        ox::session session(ox::model::load(argc == 2 ? argv[1] : ""));
        const ox::tensor in({-1.0F, 2.0F}, {1, 2});
        session.set(0, in);
        session.run();
        const std::vector<float> out = session.output(0).to_vector<float>();
        std::printf("ox %s: %g %g\n", ox_version(), static_cast<double>(out[0]), static_cast<double>(out[1]));
    } catch (const ox::error &error) {
        std::puts(error.what());
        return 1;
    }
}
