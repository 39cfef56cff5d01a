/* The C interface from C: a command to its end, one that is fed and cancelled, and what is refused. */
#include <errno.h>
#include <exechost/exechost.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                  \
    }                                                                           \
  } while (0)

struct heard {
  char text[256];
  size_t size;
  int errors;
};

static void hear(void* user, enum exechost_stream stream, const char* data, size_t size) {
  struct heard* heard = user;
  if (stream == EXECHOST_STDERR) {
    ++heard->errors;
    return;
  }
  CHECK(heard->size + size <= sizeof heard->text);
  memcpy(heard->text + heard->size, data, size);
  heard->size += size;
}

static void add(exechost_request* request, const char* argument) {
  CHECK(exechost_request_add_argument(request, argument, strlen(argument)) == 0);
}

static void a_command_runs_to_its_end(exechost_host* host) {
  exechost_request* request = exechost_request_create();
  struct heard heard = {{0}, 0, 0};
  const char script[] = "printf '%s' \"$WORD\"; cat; echo e >&2; exit 7";
  CHECK(exechost_request_set_shell(request, script, sizeof script - 1) == 0);
  CHECK(exechost_request_set_variable(request, "WORD", "\xff-word", 6) == 0);
  CHECK(exechost_request_set_stdin_bytes(request, "a\0b", 3) == 0);
  CHECK(exechost_request_on_output(request, hear, &heard) == 0);

  exechost_result* result = exechost_run(host, request);
  CHECK(result != NULL);
  size_t size = 0;
  fprintf(stderr, "%s\n", exechost_result_json(result, &size));
  CHECK(size == strlen(exechost_result_json(result, NULL)));
  CHECK(exechost_result_status(result) == EXECHOST_EXITED);
  CHECK(exechost_result_started(result) == EXECHOST_STARTED_YES);
  CHECK(exechost_result_exit_code(result) == 7);
  CHECK(exechost_result_failure(result) == NULL);
  const char* out = exechost_result_stdout(result, &size);
  CHECK(size == 9 && memcmp(out, "\xff-worda\0b", 9) == 0);
  const char* err = exechost_result_stderr(result, &size);
  CHECK(size == 2 && memcmp(err, "e\n", 2) == 0);
  CHECK(heard.size == 9 && memcmp(heard.text, "\xff-worda\0b", 9) == 0 && heard.errors > 0);
  exechost_result_destroy(result);

  /* The same request once more, for a request is a value. */
  result = exechost_run(host, request);
  CHECK(exechost_result_exit_code(result) == 7);
  exechost_result_destroy(result);
  exechost_request_destroy(request);
}

static void a_command_is_fed_signalled_and_cancelled(exechost_host* host) {
  exechost_request* request = exechost_request_create();
  add(request, "cat");
  CHECK(exechost_request_set_stdin_stream(request) == 0);
  exechost_failure* failure = NULL;
  exechost_execution* execution = exechost_start(host, request, &failure);
  CHECK(execution != NULL && failure == NULL);
  CHECK(exechost_execution_write_stdin(execution, "fed", 3, NULL) == 3);
  exechost_execution_close_stdin(execution);
  exechost_result* result = exechost_execution_wait(execution);
  size_t size = 0;
  CHECK(exechost_result_status(result) == EXECHOST_EXITED && exechost_result_exit_code(result) == 0);
  CHECK(memcmp(exechost_result_stdout(result, &size), "fed", 3) == 0 && size == 3);
  CHECK(exechost_execution_finished(execution) == 1);
  CHECK(exechost_execution_signal(execution, SIGTERM, &failure) == -1 && failure != NULL);
  CHECK(strlen(exechost_failure_message(failure)) > 0);
  exechost_failure_destroy(failure);
  exechost_result_destroy(result);
  exechost_execution_destroy(execution);

  execution = exechost_start(host, request, NULL);
  CHECK(execution != NULL);
  exechost_execution_cancel(execution);
  result = exechost_execution_wait(execution);
  CHECK(exechost_result_status(result) == EXECHOST_CANCELLED);
  exechost_result_destroy(result);
  exechost_execution_destroy(execution);
  exechost_request_destroy(request);
}

static void a_time_limit_ends_it(exechost_host* host) {
  exechost_request* request = exechost_request_create();
  add(request, "sleep");
  add(request, "60");
  CHECK(exechost_request_set_timeout_ms(request, 300) == 0);
  CHECK(exechost_request_set_timeout_ms(request, UINT64_MAX) == EINVAL);
  exechost_result* result = exechost_run(host, request);
  CHECK(exechost_result_status(result) == EXECHOST_TIMED_OUT);
  exechost_result_destroy(result);
  exechost_request_destroy(request);
}

static void what_is_wrong_is_told(exechost_host* host) {
  exechost_request* request = exechost_request_create();
  add(request, "true");
  const char settings[] = "{\"bakend\":\"bwrap\"}";
  CHECK(exechost_request_set_settings(request, settings, sizeof settings - 1) == 0);
  exechost_result* result = exechost_run(host, request);
  CHECK(exechost_result_status(result) == EXECHOST_FAILED);
  CHECK(exechost_result_started(result) == EXECHOST_STARTED_NO);
  const exechost_failure* failure = exechost_result_failure(result);
  CHECK(exechost_failure_kind(failure) == EXECHOST_INVALID_REQUEST);
  CHECK(strcmp(exechost_failure_kind_name(failure), "invalid_request") == 0);
  CHECK(strcmp(exechost_failure_phase_name(failure), "plan") == 0);
  CHECK(strstr(exechost_failure_message(failure), "bakend") != NULL);
  exechost_result_destroy(result);

  exechost_failure* own = NULL;
  CHECK(exechost_start(host, request, &own) == NULL && own != NULL);
  exechost_failure_destroy(own);
  CHECK(exechost_start(host, request, NULL) == NULL);
  own = NULL;
  CHECK(exechost_explain_json(host, request, &own) == NULL && own != NULL);
  exechost_failure_destroy(own);
  exechost_request_destroy(request);

  CHECK(exechost_request_add_argument((request = exechost_request_create()), NULL, 1) == EINVAL);
  CHECK(exechost_request_set_stdin_descriptor(request, -1) == EINVAL);
  CHECK(exechost_request_set_terminal(request, 0, 80) == EINVAL);
  exechost_request_destroy(request);

  static const char* const wrong[] = {
      "[]", "{\"keeper\":\"thread\"}", "{\"workspace\":1}", "{\"wurkspace\":\"/\"}", "{\"environment\":{\"A\":1}}",
      "{"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    own = NULL;
    CHECK(exechost_host_create(wrong[i], strlen(wrong[i]), &own) == NULL && own != NULL);
    CHECK(exechost_failure_kind(own) == EXECHOST_INVALID_REQUEST);
    exechost_failure_destroy(own);
    CHECK(exechost_host_create(wrong[i], strlen(wrong[i]), NULL) == NULL);
  }
}

static void plans_and_backends_are_shown(exechost_host* host) {
  exechost_request* request = exechost_request_create();
  add(request, "true");
  char* plan = exechost_explain_json(host, request, NULL);
  CHECK(plan != NULL && strstr(plan, "\"bwrap\"") != NULL);
  exechost_text_destroy(plan);
  char* text = exechost_explain_text(host, request, NULL);
  CHECK(text != NULL && strstr(text, "bwrap") != NULL);
  exechost_text_destroy(text);
  char* backends = exechost_backends_json(host, NULL);
  CHECK(backends != NULL && *backends == '[');
  exechost_text_destroy(backends);
  exechost_request_destroy(request);
}

struct asked {
  int times;
  enum exechost_answer answer;
};

static enum exechost_answer answer(void* user, const exechost_question* question) {
  struct asked* asked = user;
  ++asked->times;
  CHECK(exechost_question_withdrawn(question) == 0);
  size_t size = 0;
  const char* json = exechost_question_json(question, &size);
  CHECK(size == strlen(json) && strstr(json, "\"node\"") != NULL && strstr(json, "echo asked") != NULL);
  return asked->answer;
}

static void a_person_is_asked(const char* options) {
  struct asked asked = {0, EXECHOST_ANSWER_DENY};
  exechost_host* host = exechost_host_create_with_approver(options, strlen(options), answer, &asked, NULL);
  exechost_request* request = exechost_request_create();
  add(request, "echo");
  add(request, "asked");
  const char settings[] = "{\"tier\":\"node\"}";
  CHECK(exechost_request_set_settings(request, settings, sizeof settings - 1) == 0);
  exechost_result* result = exechost_run(host, request);
  CHECK(exechost_result_status(result) == EXECHOST_FAILED);
  CHECK(exechost_failure_kind(exechost_result_failure(result)) == EXECHOST_DENIED);
  exechost_result_destroy(result);
  asked.answer = EXECHOST_ANSWER_ONCE;
  result = exechost_run(host, request);
  CHECK(exechost_result_status(result) == EXECHOST_EXITED && exechost_result_exit_code(result) == 0);
  CHECK(asked.times == 2);
  exechost_result_destroy(result);
  exechost_request_destroy(request);
  exechost_host_destroy(host);
}

/* Arguments: the host's options as JSON. */
int main(int argc, char** argv) {
  CHECK(argc == 2);
  CHECK(strchr(exechost_version(), '.') != NULL);
  exechost_failure* failure = NULL;
  exechost_host* host = exechost_host_create(argv[1], strlen(argv[1]), &failure);
  if (failure != NULL) fprintf(stderr, "%s\n", exechost_failure_message(failure));
  CHECK(host != NULL);
  a_command_runs_to_its_end(host);
  a_command_is_fed_signalled_and_cancelled(host);
  a_time_limit_ends_it(host);
  what_is_wrong_is_told(host);
  plans_and_backends_are_shown(host);
  exechost_host_destroy(host);
  a_person_is_asked(argv[1]);
  exechost_host_destroy(NULL);
  return 0;
}
