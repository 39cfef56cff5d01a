// Questions go to the approver one after the other, and none is left without an answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>

#include "core/admission/asker.hpp"

namespace exechost::admission {
namespace {

using namespace std::chrono_literals;

AdmissionQuestion about(std::string command) {
  AdmissionQuestion question;
  question.command = std::move(command);
  return question;
}

// Asks, and gives the answer's future.
std::future<Answer> ask(Asker& asker, std::string command, std::stop_token stop = {}) {
  auto promise = std::make_shared<std::promise<Answer>>();
  auto future = promise->get_future();
  asker.ask(about(std::move(command)), std::move(stop), [promise](Answer answer) { promise->set_value(answer); });
  return future;
}

Answer answer_of(std::future<Answer>& future) {
  if (future.wait_for(20s) == std::future_status::ready) return future.get();
  ADD_FAILURE() << "no answer";
  return Answer::no_route;
}

// Waits until it is told to stop.
Answer patient(const AdmissionQuestion&, const std::stop_token& stop) {
  std::promise<void> stopped;
  const std::stop_callback on_stop(stop, [&stopped] { stopped.set_value(); });
  stopped.get_future().wait();
  return Answer::cancelled;
}

TEST(Asker, WithoutAnApproverThereIsNoRoute) {
  Asker asker(nullptr);
  EXPECT_FALSE(asker.can_ask());
  auto answer = ask(asker, "x");
  EXPECT_EQ(answer_of(answer), Answer::no_route);
}

TEST(Asker, AsksInOrderOneAtATimeOnItsOwnThread) {
  std::atomic<int> at_once = 0;
  std::vector<std::string> seen;
  Asker asker([&](const AdmissionQuestion& question, const std::stop_token&) {
    EXPECT_EQ(++at_once, 1);
    EXPECT_NE(std::this_thread::get_id(), std::thread::id());
    seen.push_back(question.command);
    --at_once;
    return question.command == "b" ? Answer::once : Answer::deny;
  });
  auto first = ask(asker, "a");
  auto second = ask(asker, "b");
  auto third = ask(asker, "c");
  EXPECT_EQ(answer_of(first), Answer::deny);
  EXPECT_EQ(answer_of(second), Answer::once);
  EXPECT_EQ(answer_of(third), Answer::deny);
  EXPECT_THAT(seen, testing::ElementsAre("a", "b", "c"));
}

TEST(Asker, AWithdrawnQuestionStopsTheApprover) {
  Asker asker(patient);
  std::stop_source stop;
  auto answer = ask(asker, "a", stop.get_token());
  EXPECT_EQ(answer.wait_for(50ms), std::future_status::timeout);
  stop.request_stop();
  EXPECT_EQ(answer_of(answer), Answer::cancelled);
}

TEST(Asker, OneWithdrawnBeforeItsTurnIsNotPut) {
  std::promise<void> go;
  std::vector<std::string> seen;
  Asker asker([&](const AdmissionQuestion& question, const std::stop_token&) {
    seen.push_back(question.command);
    go.get_future().wait();
    return Answer::once;
  });
  std::stop_source stop;
  auto first = ask(asker, "a");
  auto second = ask(asker, "b", stop.get_token());
  stop.request_stop();
  go.set_value();
  EXPECT_EQ(answer_of(first), Answer::once);
  EXPECT_EQ(answer_of(second), Answer::cancelled);
  EXPECT_THAT(seen, testing::ElementsAre("a"));
}

TEST(Asker, WhatAnApproverThrowsIsNoYes) {
  Asker asker([](const AdmissionQuestion&, const std::stop_token&) -> Answer { throw std::runtime_error("x"); });
  auto answer = ask(asker, "a");
  EXPECT_EQ(answer_of(answer), Answer::no_route);
}

TEST(Asker, ItsEndAnswersEverything) {
  std::future<Answer> first;
  std::future<Answer> second;
  {
    Asker asker(patient);
    first = ask(asker, "a");
    second = ask(asker, "b");
  }
  EXPECT_EQ(answer_of(first), Answer::cancelled);
  EXPECT_EQ(answer_of(second), Answer::cancelled);
}

}  // namespace
}  // namespace exechost::admission
