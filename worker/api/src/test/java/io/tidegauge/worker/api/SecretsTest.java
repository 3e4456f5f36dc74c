package io.tidegauge.worker.api;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SecretsTest {
  @Test
  void ofASecretThatContainsAnotherNoPartIsShown() {
    Secrets.remember("sesame-street");
    Secrets.remember("sesame-street-42");
    assertThat(Secrets.hide("password sesame-street-42 refused"))
        .isEqualTo("password " + Secrets.HIDDEN + " refused");
  }
}
