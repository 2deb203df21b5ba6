#pragma once
// Factors of learning rate and initial values, and weight decay, for each parameter: by its class, and by
// muP.

#include <array>
#include <string>

#include "model/parameter_class.hpp"
#include "plan/mup.hpp"
#include "plan/requests.hpp"

namespace dt::plan {

class ParameterSettings {
 public:
  struct Class {
    double lr_scale = 1;  // factor of the learning rate
    bool decays = true;   // weight decay applies to the class's parameters that the table says decay
  };
  const Class& operator[](model::ParameterClass c) const { return classes_[static_cast<std::size_t>(c)]; }
  Class& operator[](model::ParameterClass c) { return classes_[static_cast<std::size_t>(c)]; }

  Mup mup;

  /// Returns the factors of one parameter's updates, as optim::ParameterRange has them.
  struct Update {
    double lr_scale = 1;
    bool decays = true;
    double decay_scale = 1;
    /// Returns the parameter's own step: that of all with these factors.
    kernels::OptimizerStep apply(kernels::OptimizerStep step) const;
  };
  Update update_of(const model::ParameterTable& table, int param) const;

  /// Return the settings of classes in the form of options: "embedding=0.1,head=2" and "embedding". Defaults
  /// are "".
  std::string describe_lr_scale() const;
  std::string describe_no_decay() const;

 private:
  std::array<Class, enum_names(model::ParameterClass{}).size()> classes_;
};

/// Returns the settings that a request means for a model.
/// Errors: usage, naming the option, if text is malformed, or a class has no parameter in the table.
ParameterSettings parse_parameter_settings(const ParameterClassRequest& request,
                                           const model::ParameterTable& table);

}  // namespace dt::plan
