// C text -> clang -> LLVM O3 -> object -> ORC. The only file that includes LLVM's and clang's headers (25 s to
// compile).
#include "backend/cpu/jit_library/strata_jit.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <clang/Basic/DiagnosticIDs.h>
#include <clang/CodeGen/CodeGenAction.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/CompilerInvocation.h>
#include <clang/Frontend/TextDiagnosticPrinter.h>
#include <clang/Lex/PreprocessorOptions.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/ExecutionEngine/JITEventListener.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/RTDyldObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/SectionMemoryManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include "backend/cpu/jit_library/symbols.h"

// Debian's clangCodeGen refers to Polly, which is not in the static archives: give it an empty one.
llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "Polly", "none", [](llvm::PassBuilder&) {}};
}

namespace {

using llvm::StringRef;

struct TargetProcessor {
  std::string cpu;
  std::vector<std::string> features;  // "+avx2", "-sse4a", ...
  std::string joined() const {
    std::string all;
    for (const auto& f : features) all += (all.empty() ? "" : ",") + f;
    return all;
  }
};

/// Flags of clang's cc1. Contraction is off and integers wrap, so that every engine computes the same bits.
const std::vector<std::string> fixed_flags = {
    "-emit-llvm-only", "-disable-llvm-passes", "-O3", "-vectorize-loops", "-vectorize-slp", "-std=gnu17", "-x", "c",
    "-nostdsysteminc", "-nobuiltininc", "-mrelocation-model", "pic", "-pic-level", "2", "-ffp-contract=off", "-fwrapv",
    "-mframe-pointer=none",
    // Where the processor has 512-bit vectors, the text that is printed for them must not be cut in halves.
    "-mprefer-vector-width=512", "-Wno-pass-failed", "-Wno-psabi"};

char* copy(StringRef text) {
  auto* memory = static_cast<char*>(std::malloc(text.size() + 1));
  if (!memory) return nullptr;
  std::memcpy(memory, text.data(), text.size());
  memory[text.size()] = 0;
  return memory;
}

int fail(char** error, const std::string& message) {
  if (error) *error = copy(message);
  return 1;
}

/// One per process, never destroyed: compiled code may run until the very end.
struct Engine {
  std::string triple;
  TargetProcessor host;
  std::string target_text;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  llvm::orc::JITDylib* symbols = nullptr;
  std::string broken;
  std::atomic<long> libraries{0};

  Engine() {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    triple = llvm::sys::getProcessTriple();
    host.cpu = llvm::sys::getHostCPUName().str();
    for (const auto& feature : llvm::sys::getHostCPUFeatures())  // a virtual machine may mask some of the processor's
      host.features.push_back(std::string(feature.second ? "+" : "-").append(feature.first()));
    std::sort(host.features.begin(), host.features.end());
    target_text = triple + " " + host.cpu + " " + host.joined();
    for (const auto& flag : fixed_flags) target_text += " " + flag;
    if (auto error = start()) broken = toString(std::move(error));
  }

  llvm::Error start() {
    using namespace llvm::orc;
    JITTargetMachineBuilder machine{llvm::Triple(triple)};
    machine.setCPU(host.cpu);
    LLJITBuilder builder;
    builder.setJITTargetMachineBuilder(machine);
    builder.setLinkProcessSymbolsByDefault(false);
    builder.setPlatformSetUp(setUpInactivePlatform);
    if (std::getenv("STRATA_JIT_GDB"))  // lets gdb stop in kernels by name and source line
      builder.setObjectLinkingLayerCreator([](ExecutionSession& session, const llvm::Triple&) {
        auto layer = std::make_unique<RTDyldObjectLinkingLayer>(
            session, [] { return std::make_unique<llvm::SectionMemoryManager>(); });
        layer->registerJITEventListener(*llvm::JITEventListener::createGDBRegistrationListener());
        return layer;
      });
    auto made = builder.create();
    if (!made) return made.takeError();
    jit = std::move(*made);
    // Errors also come back from the calls; nothing of ours goes to stderr on its own.
    jit->getExecutionSession().setErrorReporter([](llvm::Error e) { consumeError(std::move(e)); });
    auto library = jit->createJITDylib("symbols");
    if (!library) return library.takeError();
    symbols = &*library;
    SymbolMap map;
    for (const auto& [name, address] : kernel_symbols())
      map[jit->mangleAndIntern(name)] = {ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    return symbols->define(absoluteSymbols(std::move(map)));
  }
};

Engine& engine() {
  static auto* instance = new Engine;
  return *instance;
}

std::unique_ptr<llvm::TargetMachine> make_machine(const std::string& triple, const TargetProcessor& target) {
  std::string error;
  const auto* found = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!found) return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(found->createTargetMachine(triple, target.cpu, target.joined(), {},
                                                                         llvm::Reloc::PIC_, std::nullopt,
                                                                         llvm::CodeGenOptLevel::Aggressive, true));
}

std::unique_ptr<llvm::Module> parse(llvm::LLVMContext& context, const char* source, const char* file_name,
                                    const std::string& triple, const TargetProcessor& target, std::string& messages) {
  std::vector<std::string> flags = {"-triple", triple, "-target-cpu", target.cpu};
  flags.insert(flags.end(), fixed_flags.begin(), fixed_flags.end());
  for (const auto& feature : target.features) {
    flags.push_back("-target-feature");
    flags.push_back(feature);
  }
  if (std::getenv("STRATA_JIT_GDB"))
    flags.insert(flags.end(), {"-debug-info-kind=line-tables-only", "-dwarf-version=4"});
  flags.push_back(file_name);
  std::vector<const char*> arguments;
  for (const auto& flag : flags) arguments.push_back(flag.c_str());

  llvm::raw_string_ostream stream(messages);
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> options(new clang::DiagnosticOptions);
  auto* printer = new clang::TextDiagnosticPrinter(stream, options.get());
  llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine> diagnostics(
      new clang::DiagnosticsEngine(new clang::DiagnosticIDs, options, printer));
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, arguments, *diagnostics)) return nullptr;
  invocation->getPreprocessorOpts().addRemappedFile(file_name,
                                                    llvm::MemoryBuffer::getMemBuffer(source, file_name).release());
  invocation->getFrontendOpts().DisableFree = false;
  invocation->getCodeGenOpts().DisableFree = false;
  clang::CompilerInstance compiler;
  compiler.setInvocation(invocation);
  compiler.setDiagnostics(diagnostics.get());
  compiler.setVerboseOutputStream(stream);  // or "1 error generated" lands on stderr
  clang::EmitLLVMOnlyAction action(&context);
  if (!compiler.ExecuteAction(action)) return nullptr;
  return action.takeModule();
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;  // off by default
  tuning.LoopInterleaving = true;
  tuning.LoopUnrolling = true;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(&machine, tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(components);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, components, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3).run(module, modules);
}

enum class Output { object, assembly, ir };

int translate(const char* source, const char* file_name, const char* cpu, Output output,
              llvm::SmallVectorImpl<char>& out, char** error) {
  Engine& e = engine();
  const TargetProcessor target = cpu && *cpu ? TargetProcessor{cpu, {}} : e.host;
  llvm::LLVMContext context;
  std::string messages;
  auto module = parse(context, source, file_name && *file_name ? file_name : "kernel.c", e.triple, target, messages);
  if (!module) return fail(error, messages);
  auto machine = make_machine(e.triple, target);
  if (!machine) return fail(error, "LLVM has no target " + e.triple);
  module->setTargetTriple(e.triple);
  module->setDataLayout(machine->createDataLayout());
  optimise(*module, *machine);
  llvm::raw_svector_ostream stream(out);
  if (output == Output::ir) {
    module->print(stream, nullptr);
    return 0;
  }
  llvm::legacy::PassManager passes;
  const auto kind = output == Output::object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, kind))
    return fail(error, "LLVM cannot write this kind of file");
  passes.run(*module);
  return 0;
}

}  // namespace

extern "C" {

int strata_jit_abi(void) { return STRATA_JIT_ABI; }

const char* strata_jit_version(void) { return "clang " LLVM_VERSION_STRING; }

const char* strata_jit_target(void) { return engine().target_text.c_str(); }

int strata_jit_compile(const char* source, const char* file_name, const char* cpu, char** object, size_t* size,
                       char** error) {
  llvm::SmallVector<char, 0> out;
  if (translate(source, file_name, cpu, Output::object, out, error) != 0) return 1;
  *size = out.size();
  *object = copy(StringRef(out.data(), out.size()));
  return *object ? 0 : fail(error, "out of memory");
}

int strata_jit_text(const char* source, const char* file_name, const char* cpu, int kind, char** text, char** error) {
  llvm::SmallVector<char, 0> out;
  if (translate(source, file_name, cpu, kind == 0 ? Output::assembly : Output::ir, out, error) != 0) return 1;
  *text = copy(StringRef(out.data(), out.size()));
  return *text ? 0 : fail(error, "out of memory");
}

int strata_jit_load(const char* object, size_t size, void** handle, char** error) {
  Engine& e = engine();
  if (!e.broken.empty()) return fail(error, e.broken);
  // A library each, so that equal names in different kernels never meet.
  auto library = e.jit->createJITDylib("kernel" + std::to_string(e.libraries++));
  if (!library) return fail(error, toString(library.takeError()));
  library->addToLinkOrder(*e.symbols);
  if (auto problem =
          e.jit->addObjectFile(*library, llvm::MemoryBuffer::getMemBufferCopy(StringRef(object, size), "kernel"))) {
    strata_jit_release(&*library);
    return fail(error, toString(std::move(problem)));
  }
  *handle = &*library;
  return 0;
}

void* strata_jit_find(void* handle, const char* symbol, char** error) {
  auto found = engine().jit->lookup(*static_cast<llvm::orc::JITDylib*>(handle), symbol);
  if (found) return found->toPtr<void*>();
  fail(error, toString(found.takeError()));
  return nullptr;
}

void strata_jit_release(void* handle) {
  if (handle)
    consumeError(engine().jit->getExecutionSession().removeJITDylib(*static_cast<llvm::orc::JITDylib*>(handle)));
}

void strata_jit_free(void* memory) { std::free(memory); }

}  // extern "C"
