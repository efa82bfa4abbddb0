"""Every localizer over real instances: those without a model measured, those with one driven by a scripted stand-in."""
