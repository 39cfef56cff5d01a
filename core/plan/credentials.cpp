// Where programs keep credentials. A list of known places, not a search: what it misses is hidden
// by default all the same, since a home is not shown.
#include <array>
#include <string_view>

#include "core/plan/inspector.hpp"
#include "core/plan/machine.hpp"
#include "core/plan/paths.hpp"

namespace exechost::plan {
namespace {

// Below a home.
constexpr std::array kHomeCredentials{
    std::string_view{".ssh"}, std::string_view{".gnupg"}, std::string_view{".netrc"}, std::string_view{".authinfo"},
    std::string_view{".authinfo.gpg"}, std::string_view{".git-credentials"},
    std::string_view{".config/git/credentials"}, std::string_view{".password-store"},
    std::string_view{".local/share/keyrings"}, std::string_view{".pki"},
    // package managers
    std::string_view{".npmrc"}, std::string_view{".yarnrc.yml"}, std::string_view{".config/configstore"},
    std::string_view{".pypirc"}, std::string_view{".config/pip/pip.conf"}, std::string_view{".pip/pip.conf"},
    std::string_view{".config/pypoetry/auth.toml"}, std::string_view{".cargo/credentials"},
    std::string_view{".cargo/credentials.toml"}, std::string_view{".gem/credentials"},
    std::string_view{".bundle/config"}, std::string_view{".composer/auth.json"},
    std::string_view{".config/composer/auth.json"}, std::string_view{".m2/settings.xml"},
    std::string_view{".m2/settings-security.xml"}, std::string_view{".gradle/gradle.properties"},
    std::string_view{".nuget/NuGet/NuGet.Config"}, std::string_view{".hex/hex.config"},
    // clouds, containers, infrastructure
    std::string_view{".aws"}, std::string_view{".azure"}, std::string_view{".oci"}, std::string_view{".config/gcloud"},
    std::string_view{".boto"}, std::string_view{".s3cfg"}, std::string_view{".config/rclone"},
    std::string_view{".rclone.conf"}, std::string_view{".docker/config.json"},
    std::string_view{".config/containers/auth.json"}, std::string_view{".kube"}, std::string_view{".config/helm"},
    std::string_view{".vault-token"}, std::string_view{".terraformrc"},
    std::string_view{".terraform.d/credentials.tfrc.json"}, std::string_view{".config/doctl"},
    std::string_view{".config/hcloud"}, std::string_view{".fly"}, std::string_view{".config/sops"},
    std::string_view{".config/op"}, std::string_view{".modal.toml"},
    // forges and assistants
    std::string_view{".config/gh"}, std::string_view{".config/hub"}, std::string_view{".config/glab-cli"},
    std::string_view{".claude.json"}, std::string_view{".claude/.credentials.json"},
    std::string_view{".codex/auth.json"}, std::string_view{".gemini/oauth_creds.json"},
    std::string_view{".hermes/.env"}, std::string_view{".huggingface"}, std::string_view{".cache/huggingface/token"},
    std::string_view{".env"},
    // databases
    std::string_view{".pgpass"}, std::string_view{".my.cnf"}, std::string_view{".mylogin.cnf"},
    // browsers and mail
    std::string_view{".mozilla"}, std::string_view{".thunderbird"}, std::string_view{".config/google-chrome"},
    std::string_view{".config/chromium"}, std::string_view{".config/BraveSoftware"},
    // what was typed
    std::string_view{".bash_history"}, std::string_view{".zsh_history"},
    std::string_view{".local/share/fish/fish_history"}, std::string_view{".python_history"},
    std::string_view{".node_repl_history"}, std::string_view{".psql_history"}, std::string_view{".mysql_history"},
    std::string_view{".Xauthority"}, std::string_view{".ICEauthority"}};

// What only root could read anyway, so it matters for root alone.
constexpr std::array kSystemCredentials{std::string_view{"/etc/shadow"},
                                        std::string_view{"/etc/shadow-"},
                                        std::string_view{"/etc/gshadow"},
                                        std::string_view{"/etc/gshadow-"},
                                        std::string_view{"/etc/sudoers"},
                                        std::string_view{"/etc/sudoers.d"},
                                        std::string_view{"/etc/security/opasswd"},
                                        std::string_view{"/etc/ssl/private"},
                                        std::string_view{"/etc/krb5.keytab"},
                                        std::string_view{"/etc/wireguard"},
                                        std::string_view{"/etc/openvpn"},
                                        std::string_view{"/etc/ppp/chap-secrets"},
                                        std::string_view{"/etc/ppp/pap-secrets"},
                                        std::string_view{"/etc/NetworkManager/system-connections"},
                                        std::string_view{"/etc/wpa_supplicant"},
                                        std::string_view{"/etc/letsencrypt"},
                                        std::string_view{"/etc/kubernetes"},
                                        std::string_view{"/etc/rancher"},
                                        std::string_view{"/etc/docker/key.json"},
                                        std::string_view{"/etc/mysql/debian.cnf"},
                                        std::string_view{"/etc/exim4/passwd.client"},
                                        std::string_view{"/etc/postfix/sasl_passwd"},
                                        std::string_view{"/etc/cloud"},
                                        std::string_view{"/var/lib/cloud"},
                                        std::string_view{"/var/lib/docker"},
                                        std::string_view{"/var/lib/containerd"},
                                        std::string_view{"/var/lib/kubelet"},
                                        std::string_view{"/var/lib/samba/private"},
                                        std::string_view{"/var/lib/sss/secrets"},
                                        std::string_view{"/var/lib/NetworkManager"},
                                        std::string_view{"/var/spool/cron"},
                                        std::string_view{"/var/backups"}};

constexpr std::size_t kMaxHostKeys = 256;

class Collector {
 public:
  explicit Collector(Inspector& inspector) : inspector_(inspector) {}
  void add(const std::string& path) { add(&inspector_.at(path)); }
  void add_below(const std::string& folder, std::string_view name) { add(inspector_.existing_below(folder, name)); }
  std::vector<std::string> take() {
    std::sort(found_.begin(), found_.end());
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  void add(const PathFact* fact) {
    if (fact != nullptr && fact->kind != FileKind::missing) found_.push_back(fact->resolved);
  }

  Inspector& inspector_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_credentials(Inspector& inspector, const std::map<std::string, std::string>& environment,
                                          const std::vector<std::string>& homes, uid_t uid) {
  Collector collector(inspector);
  for (const std::string& home : homes) {
    for (const std::string_view name : kHomeCredentials) collector.add_below(home, name);
  }
  const auto below_variable = [&](const char* variable, std::initializer_list<const char*> names) {
    const auto found = environment.find(variable);
    if (found == environment.end() || !found->second.starts_with('/')) return;
    for (const char* name : names) collector.add(expand_path(name, found->second, "/"));
  };
  below_variable("CARGO_HOME", {"credentials", "credentials.toml"});
  below_variable("GNUPGHOME", {"."});
  below_variable("DOCKER_CONFIG", {"config.json"});
  below_variable("AWS_SHARED_CREDENTIALS_FILE", {"."});
  below_variable("KUBECONFIG", {"."});
  below_variable("NETRC", {"."});
  below_variable("NPM_CONFIG_USERCONFIG", {"."});
  below_variable("npm_config_userconfig", {"."});
  below_variable("CLOUDSDK_CONFIG", {"."});
  below_variable("N_PREFIX", {"etc/npmrc"});
  below_variable("NPM_CONFIG_PREFIX", {"etc/npmrc"});
  below_variable("npm_config_prefix", {"etc/npmrc"});
  if (uid == 0) {
    for (const std::string_view path : kSystemCredentials) collector.add_below("/", path.substr(1));
    for (const std::string& name : inspector.names("/etc/ssh", kMaxHostKeys).value_or(std::vector<std::string>{})) {
      if (name.starts_with("ssh_host_") && name.ends_with("_key")) collector.add(join_path("/etc/ssh", name));
    }
  }
  return collector.take();
}

}  // namespace exechost::plan
