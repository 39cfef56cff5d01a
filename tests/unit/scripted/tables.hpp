// The plugin through its tables, without a keeper.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/plugin/loader.hpp"
#include "core/plugin/manifest.hpp"
#include "tests/unit/plugin/small_host.hpp"

namespace exechost::test {

class ScriptedTables : public ::testing::Test {
 protected:
  void SetUp() override {
    plugin::Found found;
    found.id = "scripted";
    found.library = EXECHOST_SCRIPTED_FOLDER "/scripted.so";
    found.manifest_path = EXECHOST_SCRIPTED_FOLDER "/scripted.json";
    auto manifest = plugin::read_manifest(found.manifest_path);
    ASSERT_TRUE(manifest) << describe(manifest.error());
    found.manifest = std::move(*manifest);
    auto loaded = plugin::load_plugin(found);
    ASSERT_TRUE(loaded) << describe(loaded.error());
    plugin_ = std::move(*loaded);
  }
  void TearDown() override { destroy(); }

  template <class Function>
  plugin::CallOutcome call(Phase phase, const Function& function) const {
    plugin::Call call("scripted", phase, {});
    return call.finish(function(call.call()));
  }
  plugin::CallOutcome create(const nlohmann::json& settings) {
    destroy();
    const std::string text = settings.dump();
    return call(Phase::provision, [&](const eh_call* call) {
      return plugin_->table()->create(host_.table(), plugin::to_eh(text), call, &backend_);
    });
  }
  void destroy() {
    if (backend_ != nullptr) backend_->destroy(backend_->self);
    backend_ = nullptr;
  }

  SmallHost host_;
  std::shared_ptr<const plugin::LoadedPlugin> plugin_;
  const eh_backend* backend_ = nullptr;
};

}  // namespace exechost::test
