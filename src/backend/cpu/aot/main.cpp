// strata_aot_objects TEXTS OBJECTS OUT: compiles the texts of TEXTS/list.txt for each instruction set into OBJECTS, and
// writes OUT/objects.rsp (their names) and OUT/table.cpp (which registers them at start-up, where the processor can run
// them).
//
// A line of list.txt is `<text hash> <level> <function>...` for the text in `<text hash>.c`; level is v3, v4 or all.
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <vector>

#include "backend/kernel.h"
#include "backend/module.h"
#include "strata/settings.h"

namespace {

using namespace strata;

const char* const levels[] = {"v3", "v4"};

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  if (!in) throw std::runtime_error("cannot read " + path);
  return all.str();
}

void write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

bool exists(const std::string& path) {
  struct stat s;
  return ::stat(path.c_str(), &s) == 0 && s.st_size > 0;
}

struct ListedKernel {
  std::string hash, level;
  std::vector<std::string> functions;
};

std::vector<ListedKernel> read_list(const std::string& path) {
  std::istringstream lines(read(path));
  std::vector<ListedKernel> entries;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    ListedKernel e;
    words >> e.hash >> e.level;
    for (std::string name; words >> name;) e.functions.push_back(name);
    if (e.functions.empty() || (e.level != "v3" && e.level != "v4" && e.level != "all"))
      throw std::runtime_error("bad line: " + line);
    entries.push_back(std::move(e));
  }
  return entries;
}

/// Functions of all texts meet in one library: each gets a name of its own.
std::string unique_name(const ListedKernel& e, const std::string& function, const std::string& level) {
  return "strata_" + level + "_" + e.hash + "_" + function;
}

int run(const std::string& texts, const std::string& objects, const std::string& out) {
  std::string why, why_cc;
  CompilerPtr compiler = in_process_clang(why);
  if (!compiler) compiler = subprocess_compiler(settings().cc, why_cc);
  if (!compiler) throw std::runtime_error("no compiler: " + why + "; " + why_cc);
  ::mkdir(objects.c_str(), 0777);
  std::string names, declarations, tables;
  int made = 0, kept = 0;
  for (const std::string level : levels) {
    tables += "const Entry table_" + level + "[] = {\n";
    for (const ListedKernel& e : read_list(texts + "/list.txt")) {
      if (e.level != "all" && e.level != level) continue;
      std::string text;
      for (const auto& f : e.functions) text += "#define " + f + " " + unique_name(e, f, level) + "\n";
      text += read(texts + "/" + e.hash + ".c");
      const std::string object = objects + "/" + text_hash(compiler->identity() + level + text) + ".o";
      if (exists(object)) {
        ++kept;
      } else {
        write(object, compiler->compile_for(text, "x86-64-" + level));
        ++made;
      }
      names += object + "\n";
      for (const auto& f : e.functions) {
        const std::string name = unique_name(e, f, level);
        declarations +=
            "std::int32_t " + name + "(void* const*, const std::int64_t*, std::int64_t, std::int64_t, std::int64_t);\n";
        tables += "    {\"" + e.hash + "." + f + "\", " + name + "},\n";
      }
    }
    tables += "    {nullptr, nullptr}};\n";
  }
  write(out + "/objects.rsp", names);
  write(out + "/table.cpp", "// Written by strata_aot_objects.\n#include \"backend/kernel.h\"\n\nextern \"C\" {\n" +
                                declarations +
                                "}\n\nnamespace {\n\n"
                                "struct Entry {\n  const char* key;\n  strata::KernelFunction function;\n};\n" +
                                tables + R"(
const bool registered = [] {
  __builtin_cpu_init();
  const Entry* table = __builtin_cpu_supports("x86-64-v4") ? table_v4 : __builtin_cpu_supports("x86-64-v3") ? table_v3 : nullptr;
  for (; table && table->key; ++table) strata::register_compiled(table->key, table->function);
  return true;
}();

}  // namespace
)");
  std::cout << "Kernels ahead of time: " << made << " compiled with " << compiler->description() << ", " << kept
            << " kept\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: strata_aot_objects TEXTS OBJECTS OUT\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& e) {
    std::cerr << "strata_aot_objects: " << e.what() << "\n";
    return 1;
  }
}
