// Pictures: as text on the terminal, and as SVG in a folder (the first argument; by default that of temporary files).
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include <strata/strata.h>

int main(int argc, char** argv) {
  using namespace strata;
  const std::filesystem::path folder = argc > 1 ? argv[1] : std::filesystem::temp_directory_path();
  const Tensor t = Tensor::csr(3, 8, {0, 2, 4, 5}, {0, 7, 2, 3, 7}, {1.0, 2.0, 3.0, 4.0, 5.0});

  const Tensor blocks = convert(t, "BSR(2, 2)");
  std::cout << draw(blocks);
  draw_storage(blocks).save(folder / "storage.svg");
  draw_raw(blocks).save(folder / "structure.svg");
  draw_conversion(t, blocks).save(folder / "conversion.svg", Theme::dark);

  // Every stored element is on the grid, and fill-in is told apart.
  const Density d = density(blocks);
  const bool right = d.stored == 5 && d.fill_in == blocks.nse() - 5;
  return right && draw(blocks).text().find("○") != std::string::npos ? EXIT_SUCCESS : EXIT_FAILURE;
}
